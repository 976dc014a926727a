"""Recognise critical facts that state a standing instruction: the whole text is one statement."""

from __future__ import annotations

import re

from ...protocol.patterns import regex
from .wishes import Instruction
from .words import across

_CONDITION = regex(
    rf"^(?P<condition>(?:{across('condition', 'facts')})\b[^,，.。;]{{3,120}})"
    r"[,，]\s*(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_WHEN_CHINESE = regex(
    r"^(?P<condition>(?:当|如果|每当)[^,\uff0c\u3002]{2,60})[,\uff0c](?P<rest>.+)$", re.DOTALL
)
_ORDER = regex(
    rf"^(?:{across('polite', 'facts')})?(?:{across('order', 'facts')})(?![A-Za-zÀ-ÿ])",
    re.IGNORECASE,
)
_PREFERENCE = regex(across("preference", "facts"), re.IGNORECASE)


def standing_instruction(fact: str) -> Instruction | None:
    """Return the instruction or preference that a fact states, or None for any other fact."""
    text = fact.strip()
    match = _CONDITION.match(text) or _WHEN_CHINESE.match(text)
    condition, rest = (match["condition"], match["rest"]) if match else (None, text)
    if _ORDER.match(rest) or _PREFERENCE.search(rest):
        return Instruction(text, condition)
    return None
