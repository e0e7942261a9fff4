"""`python -m calibrant`, and the command `calibrant`: exit codes are seen to before anything else is imported."""

from calibrant.exits import claim_streams, explained, heed_memory_limit


def main() -> None:
    """Run the command line."""
    claim_streams()
    with explained():
        heed_memory_limit()
        from calibrant.cli import app

        app(prog_name="calibrant")


if __name__ == "__main__":
    main()
