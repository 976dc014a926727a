"""Tools beside the memory: feedback."""
