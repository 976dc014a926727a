"""The HTTP API: endpoints (`routes.py`), dispatcher, middleware, errors and OpenAPI.

This package imports every package of actions. Only other entry points import it.
"""
