"""`python -m calibrant`, and the command `calibrant`: exit codes are seen to before anything else is imported."""

import gc
import os

from calibrant.exits import claim_streams, explained, heed_memory_limit


def main() -> None:
    """Run the command line."""
    claim_streams()
    # Numba words many a problem that nobody reads; in colour that takes a twentieth of the time to compile.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    gc.set_threshold(100_000, 50, 100)  # modules and compiled kernels are many objects, few of which ever end
    with explained():
        heed_memory_limit()
        from calibrant.cli import app

        app(prog_name="calibrant")


if __name__ == "__main__":
    main()
