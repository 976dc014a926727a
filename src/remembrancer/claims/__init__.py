"""Find the claims of a text (numbers, dates, names, URLs) and the events that support them.

Pure functions: no store, no clock, no users. Imports only `protocol` and `search`; imported by
`agent`.
"""
