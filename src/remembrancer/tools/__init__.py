"""Tools beside the memory: feedback, and the sandbox for programs."""
