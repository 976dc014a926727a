"""Repair failing programs by rule (`rules/`) and by language model (`models/`).

A proposal counts only after it has run successfully in the sandbox. Imported by `memory`.
"""
