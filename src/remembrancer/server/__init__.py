"""The process that serves: the application (`app.py`), the web server around it, its connections
and log.

Imports every entry point over HTTP; only `cli` imports it.
"""
