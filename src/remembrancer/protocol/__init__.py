"""The language both sides share:

requests, answers, errors, limits, seals. Imports nothing else of ours.
"""
