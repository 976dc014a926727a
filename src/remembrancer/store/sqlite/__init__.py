"""The embedded engine: one SQLite file, one writer thread, a pool of readers."""
