"""The HTTP interface: the table of endpoints (`routes.py`), the dispatcher, middleware, errors and
OpenAPI.

Imports every package of actions; only other entry points import it.
"""
