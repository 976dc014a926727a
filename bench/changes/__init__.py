"""Pairs of statements for the rules of memory/changes, and the measurement of those rules."""
