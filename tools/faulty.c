/* Makes one call of the file system fail: loaded before libc (LD_PRELOAD) by tools/runs/faults.py.

   Calls are counted that open, read, write, keep, rename, remove or chmod a file below FAULTY_FOLDER, or write to the
   standard streams. The one numbered FAULTY_AT fails with FAULTY_ERROR, and so do all after it if FAULTY_STAYS is set;
   with FAULTY_SHORT a write writes half of what it was given instead, with FAULTY_SIGNAL the process gets that signal.
   The file FAULTY_MARK is made when that happens, and its text names the call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

void faulty_begin(void) { atomic_store(&calls, 0); }

static long number(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static int below(const char *path) {
    const char *folder = getenv("FAULTY_FOLDER");
    char joined[PATH_MAX];
    if (!folder || !path) return 0;
    if (path[0] != '/') {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof here)) return 0;
        if ((size_t)snprintf(joined, sizeof joined, "%s/%s", here, path) >= sizeof joined) return 0;
        path = joined;
    }
    return strncmp(path, folder, strlen(folder)) == 0 && path[strlen(folder)] == '/';
}

static int held(int descriptor, int writes) {
    char link[64], path[PATH_MAX];
    if (writes && (descriptor == 1 || descriptor == 2)) return getenv("FAULTY_FOLDER") != NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return below(path);
}

/* Whether this call fails. */
static int fails(const char *name, int watched) {
    if (!watched) return 0;
    int before = errno;
    long at = number("FAULTY_AT"), now = atomic_fetch_add(&calls, 1) + 1;
    if (at && (now == at || (now > at && getenv("FAULTY_STAYS")))) {
        if (now == at) {
            int mark = syscall(SYS_openat, AT_FDCWD, getenv("FAULTY_MARK"), O_CREAT | O_WRONLY | O_TRUNC, 0600);
            syscall(SYS_write, mark, name, strlen(name));
            syscall(SYS_close, mark);
        }
        int sent = number("FAULTY_SIGNAL");
        if (!sent) {
            errno = number("FAULTY_ERROR");
            return 1;
        }
        if (now == at) syscall(SYS_kill, getpid(), sent);
    }
    errno = before;
    return 0;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define OPENS(function)                                             \
    int function(const char *path, int flags, ...) {                \
        va_list more;                                               \
        va_start(more, flags);                                      \
        mode_t mode = va_arg(more, mode_t);                         \
        va_end(more);                                               \
        REAL(int, #function, const char *, int, ...);               \
        return fails("open", below(path)) ? -1 : real(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(function)                                          \
    int function(int folder, const char *path, int flags, ...) {    \
        va_list more;                                               \
        va_start(more, flags);                                      \
        mode_t mode = va_arg(more, mode_t);                         \
        va_end(more);                                               \
        REAL(int, #function, int, const char *, int, ...);          \
        return fails("open", below(path)) ? -1 : real(folder, path, flags, mode); \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

ssize_t write(int descriptor, const void *from, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!fails("write", held(descriptor, 1))) return real(descriptor, from, size);
    if (size > 1 && !getenv("FAULTY_STAYS") && number("FAULTY_SHORT")) return real(descriptor, from, size / 2);
    return -1;
}

ssize_t read(int descriptor, void *to, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    return fails("read", held(descriptor, 0)) ? -1 : real(descriptor, to, size);
}

#define READS_AT(function)                                                        \
    ssize_t function(int descriptor, void *to, size_t size, off_t at) {           \
        REAL(ssize_t, #function, int, void *, size_t, off_t);                     \
        return fails("read", held(descriptor, 0)) ? -1 : real(descriptor, to, size, at); \
    }
READS_AT(pread)
READS_AT(pread64)

int fsync(int descriptor) {
    REAL(int, "fsync", int);
    return fails("fsync", held(descriptor, 0)) ? -1 : real(descriptor);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return fails("rename", below(to)) ? -1 : real(from, to);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    return fails("unlink", below(path)) ? -1 : real(path);
}

int chmod(const char *path, mode_t mode) {
    REAL(int, "chmod", const char *, mode_t);
    return fails("chmod", below(path)) ? -1 : real(path, mode);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return fails("mkdir", below(path)) ? -1 : real(path, mode);
}
