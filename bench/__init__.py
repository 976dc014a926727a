"""Benchmarks of cost and retrieval quality: `python -m bench` runs all; results.md has the figures."""
