"""Memories of eight plain facts in six languages, with everyday questions about them."""
