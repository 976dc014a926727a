"""Events: stored verbatim and retrieved by hybrid search."""
