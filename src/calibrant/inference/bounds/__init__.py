"""Proofs about the population: intervals and gates."""
