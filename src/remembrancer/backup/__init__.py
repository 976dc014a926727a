"""Backups of the whole service: write, verify, restore (docs/guides/backup.md)."""
