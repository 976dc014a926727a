"""Tools beside the memory: feedback, created files."""
