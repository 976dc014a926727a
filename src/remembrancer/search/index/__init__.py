"""The search index of one space, and a cache of indexes."""
