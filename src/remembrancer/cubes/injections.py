"""Recognise rules that try to command the agents that read them, by families of phrasings.

A lesson says how to do a task. An injection speaks to the model instead: it sets its instructions
aside, gives it another role, asks for its secrets, or wants something done unseen. Its phrasings
vary, but each family needs certain pairs of words. The patterns are written for short English
texts; search/text/screening.py has those for turns in any language. `python -m bench.injections`
measures them on lists that others published.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib import resources

_MACRO = re.compile(r"<([A-Z]+)>")
# Lessons about good habits say these things with a "not"; an injection says them without.
_NEGATED = re.compile(
    r"\b(?:(?:not|never)(?! (?:hesitate|fail|forget|wait|only|just|stop|worry))|nor|avoid|without"
    r"|cannot|n't|instead of|rather than|refuse to)\b[^.!?]{0,80}$"
)
_DISGUISED = ("override", "prompts")  # families that are searched in decoded texts, too
_DECODE = re.compile(
    r"\b(?:decode|decrypt|decipher|unscramble|rot-?13|base-?64|caesar|hex(?:adecimal)?|morse"
    r"|backwards)\b[^.!?]{0,80}"
    r"\b(?:follow|execute|obey|carry out|do what|act on|comply|respond|answer)\b",
    re.IGNORECASE,
)
_ESCAPES = re.compile(r"(?:\\x[0-9a-f]{2}|%[0-9a-f]{2}|\\u00[0-9a-f]{2}){4,}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-f]{2}[ :]?){12,}", re.IGNORECASE)
_BINARY = re.compile(r"(?:[01]{7,8}\s){6,}")
_SPACED = re.compile(r"\b(?:[A-Za-z][ .\-_*]){5,}[A-Za-z]\b")
_LEET = str.maketrans("0134578@$", "oieastbas")
_LEET_WORD = re.compile(r"\b(?=\w*[a-z])(?=\w*[0-9@$])[\w@$]{4,}\b", re.IGNORECASE)
_WORDS_MIN = 2  # words of decoded bytes that are text
_ENCODED = "an encoded text"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """A family of phrasings."""

    title: str
    patterns: tuple[re.Pattern[str], ...]
    is_guarded: bool  # a match after a "not" does not count
    is_for_rules: bool  # other texts of a cube may have these phrasings

    def is_in(self, plain: str) -> bool:
        """Return True if a text in the form of `_normalised` has one of the phrasings."""
        return any(
            not (self.is_guarded and _NEGATED.search(plain[: match.start()]))
            for pattern in self.patterns
            for match in pattern.finditer(plain)
        )


def injection_family(text: str, *, in_rules: bool = True) -> str | None:
    """Return the family of injections that a text of a cube belongs to, or None.

    The name completes "its rules contain ...". Texts are read without regard to case, width, and
    line breaks; encoded, reversed, spaced-out and rotated texts are decoded first.
    """
    plain = _normalised(text)
    families = [one for one in _families().values() if in_rules or not one.is_for_rules]
    family = next((one for one in families if one.is_in(plain)), None)
    if family is not None:
        return family.title
    return _ENCODED if _is_encoded(text) else None


@cache
def _families() -> dict[str, _Family]:
    table = tomllib.loads(
        resources.files(__package__).joinpath("injections.toml").read_text("utf-8")
    )
    words = table["words"]
    return {
        name: _Family(
            title=row["title"],
            patterns=tuple(
                re.compile(_MACRO.sub(lambda match: words[match[1]], pattern))
                for pattern in row["patterns"]
            ),
            is_guarded=row.get("guarded", False),
            is_for_rules=row.get("rules_only", False),
        )
        for name, row in table["families"].items()
    }


def _normalised(text: str) -> str:
    """Return a text in lower case on one line, with plain quotation marks."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(plain.replace("\u2019", "'").replace("\u201c", '"').split())


def _is_encoded(text: str) -> bool:
    """Return True if a text hides another one, or asks to decode one and to follow it."""
    if _DECODE.search(text) or _BINARY.search(text):
        return True
    if any(
        decodes(run)
        for runs, decodes in (
            (_BASE64, _is_base64_text),
            (_HEX, _is_hex_text),
            (_ESCAPES, _is_escaped_text),
        )
        for run in runs.findall(text)
    ):
        return True
    joined = _SPACED.sub(lambda match: re.sub(r"[ .\-_*]", "", match[0]), text)
    variants = {
        codecs.encode(text, "rot13"),
        text[::-1],
        _LEET_WORD.sub(lambda match: match[0].translate(_LEET), text),
    }
    return any(
        _families()[name].is_in(_normalised(variant))
        for variant in variants - {text}
        for name in _DISGUISED
    ) or (joined != text and injection_family(joined) is not None)


def _is_base64_text(run: str) -> bool:
    padded = run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 4)
    try:
        return _is_sentence(base64.urlsafe_b64decode(padded.replace("+", "-").replace("/", "_")))
    except (binascii.Error, ValueError):
        return False


def _is_hex_text(run: str) -> bool:
    return _is_sentence(bytes.fromhex(re.sub(r"[ :]", "", run)))


def _is_escaped_text(run: str) -> bool:
    """Return True if escapes stand for printable characters, which nobody needs to escape."""
    content = bytes.fromhex("".join(re.findall(r"[0-9A-Fa-f]{2}(?![0-9A-Fa-f])", run)))
    return all(0x20 <= byte < 0x7F for byte in content)


def _is_sentence(content: bytes) -> bool:
    """Return True if decoded bytes are words with blanks between them."""
    return (
        content.isascii()
        and all(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in content)
        and len(content.split()) >= _WORDS_MIN
    )
