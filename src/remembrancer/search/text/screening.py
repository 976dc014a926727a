"""Secrets in a text: keys, tokens, private keys and passwords, as a detector with hundreds of rules
sees them.

The detector and its rules are `kingfisher-secret-scanner`; `secrets.yml` adds what a conversation
needs beyond them (docs/decisions/0004-secrets-detector.md says why). It works offline, in time that
grows with the text and no faster.
"""

from __future__ import annotations

import re
import threading
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

_INVISIBLE = re.compile(  # format characters, variation selectors, tags
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_LINE_BREAKS = re.compile("[\r\u0085\u2028\u2029]+")
# letters of other scripts that look Latin
_ALIKE = str.maketrans("аеорсухіѕјԁԛԝһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxisjdqwhlABEZHIKMNOPTYXo")
_LATIN = re.compile("[a-z]")

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

OURS = "remembrancer."  # the rules of secrets.yml
# Many rules want white space behind a key; in prose a comma or a full stop stands there.
_ALWAYS = bytes.maketrans(b",)]", b"   ")
_AT_ENDS = re.compile(rb"[.!?](?=\s|$)")
# languages without spaces write a key between their letters
_FOREIGN = bytes(byte if byte < 0x80 else 0x20 for byte in range(256))
_REST = re.compile(r"""[^\s"'`<>{}()\[\],;]*""")
_KEY_LINES = re.compile(r"(?:\s*+[A-Za-z0-9+/=]{16,}+)*+")
# What no text with a secret is without: twelve characters in a row, or a word that tells one. Most
# turns need no rules at all.
_HINT = re.compile(
    r"\S{12}|pass|pwd|secret|token|key|bearer|auth|credential|kennwort|contrase|senha|парол|密码|パスワード",
    re.IGNORECASE,
)
_loading = threading.Lock()


class DetectedSecret(NamedTuple):
    """One secret of a text: `text[start:end]`."""

    kind: str  # the detector's word for it, such as github-pat or password
    start: int
    end: int


def find_secrets(text: str) -> list[DetectedSecret]:
    """Every secret of a text, in order, none within another.

    The first call of a process for a text that may hold one waits half a second or more for the
    rules.
    """
    if not _HINT.search(text):
        return []
    # one byte for each, so that places stay
    raw = text.encode("utf-8", "replace").replace(b"\x00", b" ")
    plain = _AT_ENDS.sub(b" ", raw.translate(_ALWAYS))
    looks = [plain] if text.isascii() else [plain, plain.translate(_FOREIGN)]
    found = [
        _found(finding.rule_id, finding.location)
        for look in looks
        for finding in _scanner().scan(look)
        if finding.visible
    ]
    if not found:
        return []
    place = _places(raw, found)
    spans = [(place[start], _end(text, rule, place[end]), rule) for start, end, rule in found]
    return list(
        _merged(sorted(spans, key=lambda span: (span[0], -span[1], span[2].startswith(OURS))))
    )


def mask_secrets(text: str, found: Sequence[DetectedSecret]) -> str:
    """The text with each secret that was found in it replaced by its kind:

    `[masked: github-pat]`.
    """
    edges = [0, *(edge for secret in found for edge in (secret.start, secret.end)), len(text)]
    kept = [text[start:end] for start, end in list(pairwise(edges))[::2]]
    return (
        "".join(
            part
            for pair in zip(kept, [f"[masked: {secret.kind}]" for secret in found], strict=False)
            for part in pair
        )
        + kept[-1]
    )


def load() -> threading.Thread:
    """Load the rules beside other work, so that nobody waits for them later; gives the thread that
    does it.

    Nothing need wait for it to end: the first time on a machine it takes seconds, and it cannot be
    stopped.
    """
    thread = threading.Thread(target=_scanner, name="remembrancer-secrets", daemon=True)
    thread.start()
    return thread


def _scanner() -> Scanner:
    with _loading:  # not several at once: compiling the rules anew takes seconds
        return _loaded()


@cache
def _loaded() -> Scanner:
    # here: 50 MB of memory and up to some seconds that a search need not wait for
    from kingfisher_sdk import (
        Rules,
        Scanner,
    )

    with resources.as_file(resources.files(__package__).joinpath("secrets.yml")) as rules:
        return Scanner(Rules([rules]))


def _found(rule: str, location: dict[str, int]) -> tuple[int, int, str]:
    return location["start_offset"], location["end_offset"], rule


def _places(raw: bytes, found: Sequence[tuple[int, int, str]]) -> dict[int, int]:
    """Which character each place in the bytes is."""
    places, at, character = {}, 0, 0
    for offset in sorted({offset for start, end, _ in found for offset in (start, end)}):
        character += len(raw[at:offset].decode("utf-8", "replace"))
        at = offset
        places[offset] = character
    return places


def _end(text: str, rule: str, end: int) -> int:
    """Where a secret ends that a rule of ours saw the beginning of."""
    if not rule.startswith(OURS) or rule.endswith("url-password"):
        return end
    rest = _KEY_LINES if rule.endswith("private-key") else _REST
    match = rest.match(text, end)
    return match.end() if match else end


def _merged(spans: Sequence[tuple[int, int, str]]) -> Iterator[DetectedSecret]:
    """Overlapping spans, sorted by their beginning, as one each."""
    last: DetectedSecret | None = None
    for start, end, rule in spans:
        if last is not None and start < last.end:
            last = last._replace(end=max(last.end, end))
            continue
        if last is not None:
            yield last
        last = DetectedSecret(re.split(r"[./]", rule)[-1], start, end)
    if last is not None:
        yield last


@lru_cache(maxsize=1)
def _techniques() -> tuple[tuple[str, re.Pattern[str]], ...]:
    table = tomllib.loads(
        resources.files(__package__).joinpath("screening.toml").read_text("utf-8")
    )
    return tuple(
        (name, re.compile("|".join(f"(?:{_plain(p)})" for p in row["patterns"]), re.MULTILINE))
        for name, row in table.items()
    )


def _plain(text: str) -> str:
    """Width, case and Latin accents evened out, without characters that cannot be seen."""
    decomposed = unicodedata.normalize("NFKD", _LINE_BREAKS.sub("\n", _INVISIBLE.sub("", text)))
    return unicodedata.normalize(
        "NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    )


def instruction_like(text: str) -> tuple[str, ...]:
    """The techniques (tables of screening.toml) by which a text seems to give orders to its reader;
    empty for most texts.
    """
    plain = _plain(text).lower()
    found = {name for name, pattern in _techniques() if pattern.search(plain)}
    if not plain.isascii() and _LATIN.search(plain):
        disguised = plain.translate(_ALIKE)
        found |= (
            {name for name, pattern in _techniques() if pattern.search(disguised)}
            if disguised != plain
            else set()
        )
    return tuple(name for name, _ in _techniques() if name in found)
