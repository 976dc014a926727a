"""Remembrancer: a shared memory and a set of tools for AI agents, self-hosted."""

__version__ = "1.0.0"
