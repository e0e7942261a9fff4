"""Every way out of a command and its exit code: the standard library alone, so that it stands before any import."""

from __future__ import annotations

import atexit
import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

from calibrant.door.errors import InputError, Ways
from calibrant.lazily import missing_library

BAD_INPUT = 2
UNFORESEEN = 70
TRACEBACK = "CALIBRANT_TRACEBACK"
"""The environment variable that asks for the traceback of what was not foreseen."""

_LEAST_MEMORY = 640_000_000  # address space that the libraries take when they are loaded
_GRACE = 5.0  # seconds that the work has to end itself when it is asked to
_LAST_WORDS = b"calibrant: something unforeseen: no verdict was reached (out of memory)\n"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_USERS = {
    *(errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP),
    *(errno.EROFS, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO),
}
"""What an operating system refuses for a reason that the user can see and change."""
OPTIONS = {"so_far": "--so-far", "out": "--out", "file": "FILE", "certificate": "--certificate", "items": "--items"}
"""What an argument is called on the command line; the commands add the options that they declare."""

_received: list[int] = []
_waiting: list[int] = []


class Leave(SystemExit):
    """The command ends with this exit code; the message has been printed."""


class _Signalled(BaseException):
    """Ctrl-C or a request to end, under a name of our own: libraries treat a KeyboardInterrupt in ways of theirs."""


@contextmanager
def explained() -> Iterator[None]:
    """Turn a mistake into a message and exit code 2, a signal into 128 and its number, all else into 70.

    Code 1 is left to a verdict: no traceback ends with it. Nor is one printed of what Python itself ignores, such as
    want of memory in a callback of a library: what follows from it ends the command like any other error.
    """
    if not os.environ.get(TRACEBACK):
        sys.unraisablehook = lambda _ignored: None
    with _signals_heeded():
        try:
            yield
            _heed()
        except BaseException as problem:
            try:
                code = _explain(problem)
                _let_go()
                _vouch(code)
            except MemoryError:  # not enough was left to say even that
                os.write(2, _LAST_WORDS)
                code = UNFORESEEN
                _vouch(code)
            if _waiting and code == UNFORESEEN:
                os._exit(code)  # under a limit of memory: to leave by an exception takes more of it
            raise Leave(code) from None
        _vouch(0)


def _let_go() -> None:
    """Drop what could not be printed: Python would try again at its exit, and fail with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            try:
                stream.flush()
            except OSError:
                _drop(stream)


def end_at_once(left: SystemExit) -> None:
    """End the process, once what was to be done at its end is done.

    Python would then take apart all that the libraries made, piece by piece: a fifth of what a short audit takes.
    It does so only where a debugger or a profiler looks on, which wants the end for itself.
    """
    if sys.gettrace() is None and sys.getprofile() is None:
        atexit._run_exitfuncs()
        _let_go()
        os._exit(int(left.code or 0))


def _vouch(code: int) -> None:
    """Tell the process that waits, where there is one, that this exit code is ours."""
    for pipe in _waiting:
        os.write(pipe, bytes([code]))


def _explain(exception: BaseException) -> int:
    """Say what went wrong, and return the exit code."""
    if isinstance(exception, Leave):
        return int(exception.code or 0)
    if _received:  # no matter what a library in between made of it
        tell("calibrant: " + ("interrupted" if _received[0] == signal.SIGINT else "told to end"))
        return 128 + _received[0]
    if isinstance(exception, KeyboardInterrupt):
        tell("calibrant: interrupted")
        return 130
    if isinstance(exception, SystemExit) and (code := _of_parser(exception)) is not None:
        return code
    if isinstance(exception, InputError) or (isinstance(exception, OSError) and exception.errno in _USERS):
        tell("calibrant: " + in_words(exception).replace("\n", "\\n"))
        return BAD_INPUT
    if isinstance(exception, ImportError):
        missing = missing_library("this command", exception)
        if missing or exception.name == "NUMBA_DISABLE_JIT":  # which says that it cannot be so
            tell(f"calibrant: {missing or exception}")
            return BAD_INPUT
    _tell_unforeseen(exception)
    return UNFORESEEN


def _of_parser(exception: SystemExit) -> int | None:
    """The exit code of usage and help, which the parser of the command line leaves with; None of any other end."""
    if exception.code in (0, None, BAD_INPUT):
        return int(exception.code or 0) if _written(sys.stdout) else BAD_INPUT
    if isinstance(exception.__context__, BrokenPipeError):  # help that is read no further
        _drop(sys.stdout)
        return 0
    return None


def _tell_unforeseen(exception: BaseException) -> None:
    first = next(iter(str(exception).splitlines()), "")
    kind = type(exception).__name__ + (f": {first:.200}" if first else "")
    tell(f"calibrant: something unforeseen: no verdict was reached ({kind}). {TRACEBACK}=1 shows the traceback.")
    if os.environ.get(TRACEBACK):
        tell("".join(traceback.format_exception(exception)).rstrip())


def in_words(problem: InputError | OSError) -> str:
    """The problem, in the command line's words."""
    if isinstance(problem, OSError):
        return f"{problem.filename or 'output'}: {problem.strerror or problem}"
    argument = OPTIONS.get(problem.argument, problem.argument)
    allowed = problem.allowed.command if isinstance(problem.allowed, Ways) else problem.allowed
    return str(InputError(argument, problem.problem, allowed=allowed))


@contextmanager
def _signals_heeded() -> Iterator[None]:
    """Raise at Ctrl-C and at a request to end; a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is _receive:
        yield
        return
    _received.clear()
    before = [(each, signal.signal(each, _receive)) for each in _SIGNALS if _can_be_heeded(each)]
    try:
        yield
    finally:
        for each, handler in before:
            signal.signal(each, handler)


def _can_be_heeded(number: int) -> bool:
    # What the caller had ignored (nohup, a job in the background) stays ignored.
    return signal.getsignal(number) not in (signal.SIG_IGN, None)


def _receive(number: int, _: FrameType | None) -> None:
    _received.append(number)
    signal.signal(number, signal.SIG_DFL)
    raise _Signalled


def _heed() -> None:
    """Raise for a signal whose exception was swallowed on its way, as in a finaliser."""
    if _received:
        raise _Signalled


def escaped(text: str) -> str:
    r"""The text with everything that could steer a terminal written as an escape; valid inside JSON's strings as well.

    >>> escaped("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() or c == " " else _escape(c) for c in text)


def _escape(character: str) -> str:
    if character < " ":
        return f"\\x{ord(character):02x}"
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def show(text: str) -> None:
    """Print what the command was asked for.

    A reader that has left wanted no more of it, and changes nothing about the verdict; any other failure ends the
    command with code 2, so that nothing that was not written passes for written.
    """
    _heed()
    if not _written(sys.stdout, text + "\n"):
        raise Leave(BAD_INPUT)


def tell(text: str) -> None:
    """Print a remark on the standard error; that it cannot be shown is no reason to fail."""
    _written(sys.stderr, text + "\n")


def _written(stream: IO[str] | Any, text: str = "") -> bool:
    """Whether the text, and what was printed before it, is out, or has no reader."""
    if stream is None:
        return True
    try:
        stream.write(escaped(text))
        stream.flush()
    except OSError as problem:
        _drop(stream)
        if isinstance(problem, BrokenPipeError):
            return True
        if stream is not sys.stderr:
            tell(f"calibrant: output: {problem.strerror or problem}")
        return False
    return True


def _drop(stream: IO[str] | Any) -> None:
    """Send what is left to the null device, so that Python does not fail over it at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def heed_memory_limit() -> None:
    """Under a limit of address space, refuse what cannot even be imported, and outlive libraries that give up.

    OpenBLAS tries for ever to get the memory that it wants when it is loaded.
    """
    try:
        import resource
    except ImportError:  # not a system with such limits
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit < _LEAST_MEMORY:
        tell(
            f"calibrant: the address space is limited to {limit / 1e6:,.0f} MB (ulimit -v), and at least "
            f"{_LEAST_MEMORY / 1e6:,.0f} MB are needed: no verdict was reached"
        )
        raise Leave(UNFORESEEN)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own reserves a gigabyte of addresses
    if hasattr(signal, "sigwaitinfo"):
        _go_on_in_a_child(limit)
    # The first libraries to be loaded, while there is memory: OpenBLAS would ask for ever for what it does not get.
    import scipy.linalg  # noqa: F401


def _go_on_in_a_child(limit: int) -> None:
    """Return in a child alone; this process, small, waits for it and puts its end into an exit code and a line.

    Libraries written in C, the linker among them, end the process where they get no memory: by a signal, with 127, or,
    as OpenBLAS does, with 1. So only a code that was vouched for counts.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # were it ignored, nobody would say that the child has ended
    awaited = {signal.SIGCHLD, *filter(_can_be_heeded, _SIGNALS)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        _waiting.append(theirs)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    os.close(theirs)
    ended, signals = 0, 0
    while not ended:
        heard = signal.sigtimedwait(awaited, _GRACE) if signals else signal.sigwaitinfo(awaited)
        if heard is None:  # a library that waits for ever lets nobody else hear
            os.kill(child, signal.SIGKILL)
        elif heard.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
        else:
            signals = heard.si_signo
            if heard.si_code <= 0:  # sent by a process to this one; what the terminal sends, the child gets itself
                os.kill(child, signals)
    vouched, code = os.read(ours, 64), os.waitstatus_to_exitcode(status)
    if vouched:  # no matter what became of the libraries after that
        raise Leave(vouched[-1])
    if -code in _SIGNALS or (signals and -code == signal.SIGKILL):
        raise Leave(128 + signals if signals else 128 - code)
    how = f"signal {-code}" if code < 0 else f"code {code}"
    tell(
        f"calibrant: a library ended the process ({how}), as it does where memory runs out. The address space is "
        f"limited to {limit / 1e6:,.0f} MB (ulimit -v): no verdict was reached"
    )
    raise Leave(UNFORESEEN)


def claim_streams() -> None:
    """See that 0, 1 and 2 are taken, so that no file opened later gets what is printed; show any name, however odd.

    With PYTHONUNBUFFERED, as images of containers set it, Python takes no notice of a write that was cut short, as
    where a disk becomes full: a buffer, which is emptied after each text, writes all of it or says that it cannot.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            continue
        stream.reconfigure(errors="backslashreplace")  # what the terminal cannot show is no reason to fail
        if isinstance(stream.buffer, io.RawIOBase):
            whole = io.BufferedWriter(stream.buffer)
            setattr(sys, name, io.TextIOWrapper(whole, stream.encoding, stream.errors, write_through=True))
