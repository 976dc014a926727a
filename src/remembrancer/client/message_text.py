"""Text of messages: what the service can store, and what a message of a chat says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_NOT_STORABLE = re.compile("[\\0\ud800-\udfff]")


def readable(text: str) -> str:
    """Replace what cannot be stored (NUL, lone surrogates) with the replacement character."""
    # Decoding UTF-16 joins two adjacent surrogates into the character they encode.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def storable(text: str, name: str) -> str:
    """Return a text with adjacent surrogates as the character that they encode.

    Raises ValueError, naming the text, the character and its place, for what cannot be stored: what
    a program stores is kept word for word, so it is not replaced.
    """
    fault = _NOT_STORABLE.search(text)
    if fault is None:
        return text
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    fault = _NOT_STORABLE.search(joined)
    if fault is None:
        return joined
    code = ord(fault[0])
    kind = f"a lone surrogate (U+{code:04X})" if code else "a NUL character (U+0000)"
    raise ValueError(
        f"{name} has {kind} as character {fault.start() + 1}, which cannot be stored. Text is kept "
        "word for word, so nothing is stored: remove or replace it."
    )


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
