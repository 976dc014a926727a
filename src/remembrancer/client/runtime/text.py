"""Text that the service can store."""

from __future__ import annotations


def readable(text: str) -> str:
    """Replace what cannot be stored (NUL, lone surrogates) with the replacement character."""
    # Decoding UTF-16 joins two adjacent surrogates into the character they encode.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")
