"""Reasons why a disk or the operating system refuses work, in words that callers may read."""

from __future__ import annotations

import errno

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "the files may not be accessed",
    errno.EPERM: "the files may not be accessed",
    errno.EIO: "the disk reports errors",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENOMEM: "the memory is used up",
}


def reason_of(error_number: int | None) -> str:
    """Return the reason for an `errno`, without paths; empty if it is none of those."""
    return _REASONS.get(error_number or 0, "")
