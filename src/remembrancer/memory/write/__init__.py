"""Writes: remember a turn, save an event, keep a sandbox run, and what of a text is stored."""
