"""Benchmarks of cost and retrieval quality. `python -m bench` runs all and writes results.md."""
