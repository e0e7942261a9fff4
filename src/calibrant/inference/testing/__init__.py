"""Is the miscalibration more than chance? Tests, and what they share."""
