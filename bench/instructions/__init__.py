"""Labelled wishes in messages of users: training and measurement of their recognition."""
