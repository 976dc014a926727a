"""Tools beside the memory: feedback, created files, and the sandbox for programs."""
