"""A first look: a small conversation, and three questions about it."""
