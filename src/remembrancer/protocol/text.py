"""Text as it may travel: valid Unicode without NUL."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def _checked(text: str) -> str:
    if "\x00" in text:
        raise ValueError("text must not contain NUL")
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("text must be valid Unicode: it contains a lone surrogate")
    return text


Text = Annotated[str, AfterValidator(_checked)]
