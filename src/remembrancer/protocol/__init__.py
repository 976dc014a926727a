"""Types shared by server and client: requests, answers, errors, limits, seals, service lines.

Imports no other package; every other package may import it.
"""
