"""Specific claims of a text (numbers, dates, names, URLs) and the events that support them.

Pure: no store, no clock, no users. Imports only `protocol` and `search`.
"""
