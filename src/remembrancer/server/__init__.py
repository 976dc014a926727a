"""The server process: the application (`app.py`), the web server, its connections and log.

This package imports every HTTP entry point. Only `cli` imports it.
"""
