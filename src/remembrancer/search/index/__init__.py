"""The search index of one space: postings, vectors, and a cache of indexes."""
