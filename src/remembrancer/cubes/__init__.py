"""Lessons: made, published, shown to those they help, and voted on."""
