"""Writes: remember a turn, save an event, store a sandbox run, and screen incoming text."""
