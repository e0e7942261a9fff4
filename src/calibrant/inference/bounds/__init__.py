"""What is proved of the population: intervals and gates."""
