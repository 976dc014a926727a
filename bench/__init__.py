"""Benchmarks of cost and retrieval quality. `python -m bench` runs all and writes results.md."""

import os
import sys

# A shell may export it, and each process that is measured would compile its modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
