"""What every public call gives: its numbers, words, errors and exit codes, to the last bit."""
