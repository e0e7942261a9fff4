"""`python -m calibrant`, and the command `calibrant`: exit codes are seen to before anything else is imported."""

import gc

from calibrant.exits import claim_streams, explained, heed_memory_limit


def main() -> None:
    """Run the command line."""
    claim_streams()
    gc.set_threshold(100_000, 50, 100)  # modules and compiled kernels are many objects, few of which ever end
    with explained():
        heed_memory_limit()
        from calibrant.cli import app

        app(prog_name="calibrant")


if __name__ == "__main__":
    main()
