"""Text of messages: what the service can store, and what a message of a chat says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def readable(text: str) -> str:
    """Replace what cannot be stored (NUL, lone surrogates) with the replacement character."""
    # Decoding UTF-16 joins two adjacent surrogates into the character they encode.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def message_text(content: Any) -> str | None:
    """Return the text of a message's content: a string, or the text blocks of a list.

    None for anything else.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return None
    return "".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    """Return the text of a content block; empty for a block of another kind."""
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None)
    return text if isinstance(text, str) else ""
