"""Repair and improve programs with language models.

Guards inspect every change, and the sandbox runs it, before it is accepted.
"""
