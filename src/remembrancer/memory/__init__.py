"""Events: kept verbatim, found again by hybrid search."""
