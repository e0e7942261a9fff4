"""`python -m calibrant`, and the command `calibrant`: exit codes are seen to before anything else is imported."""

import gc
import os

from calibrant.exits import claim_streams, end_at_once, explained, heed_memory_limit


def main() -> None:
    """Run the command line, and end the process with it."""
    try:
        command()
    except SystemExit as left:
        end_at_once(left)
        raise


def command() -> None:
    """Run the command line; leave by its exit code."""
    claim_streams()
    # Numba words many a problem that nobody reads; in colour that takes a twentieth of the time to compile.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    # OpenBLAS makes its threads when it is loaded, by NumPy and by SciPy, which takes a tenth of a second; what is
    # multiplied here is small. Under a limit of memory it would ask for ever for what it does not get.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(10_000_000, 50, 100)  # looking through what compiling leaves behind once takes most of a second
    with explained():
        heed_memory_limit()
        from calibrant.cli.app import app

        app(prog_name="calibrant")


if __name__ == "__main__":
    main()
