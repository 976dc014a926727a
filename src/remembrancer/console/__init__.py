"""The web console: one module of page handlers per menu entry, templates, sign-in sessions.

Only `server` imports it.
"""
