"""Permissions of agents on system files: the owner's grants, and the audit trail.

Imported by the entry points.
"""
