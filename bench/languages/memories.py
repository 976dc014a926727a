"""Read the memories: sessions in the form of `bench.coding.days`, with questions of two fields.

`P Name: text` is a message of a person to another; `? question | keys` names the turns that answer.
"""

from __future__ import annotations

import re
from pathlib import Path

from bench.coding.days import sample
from bench.locomo import Conversation, conversation_of

LANGUAGES = ("en", "de", "es", "fr", "ru", "zh", "ja")
MIXED = "mixed"
_HERE = Path(__file__).parent


def memory(name: str) -> Conversation:
    """Return a memory, one event per turn. `name` is one of LANGUAGES, or MIXED."""
    text = (_HERE / f"{name}.days").read_text("utf-8")
    lines = re.sub(r"(?m)^\? (.*) \| ([\w ]+)$", r"? single fact | \1 |  | \2", text)
    return conversation_of(sample(f"name: {name}\npart: development\nmodules: none\n{lines}"))
