"""Screening of texts: secrets (keys, tokens, passwords) and prompt injections."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from re import _constants, _parser
from typing import TYPE_CHECKING, Any, NamedTuple

from .protocol.tables import read_table

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner


# --- Literal texts that a regular expression needs, so that most texts need not be searched for it
# Source: Cox, "Regular expression matching with a trigram index", 2012. Whole texts here, no
# trigrams.

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


def needed_texts(pattern: str) -> tuple[str, ...]:
    """Return texts one of which is in every match of a pattern; empty if there are none.

    Of several such sets, that with the longest texts: they are the rarest. The pattern must not
    ignore case.
    """
    return tuple(sorted(_best(_parser.parse(pattern)) or ()))


def _best(tree: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    """Return the best set of texts that a sequence needs; None without any."""
    sets: list[frozenset[str]] = []
    literal = ""
    for kind, argument in tree:
        if kind is _constants.LITERAL:
            literal += chr(argument)
        elif kind is not _constants.AT:  # a boundary between two letters changes nothing
            sets += [frozenset({literal})] if literal else []
            literal = ""
            if (inner := _needed(kind, argument)) is not None:
                sets.append(inner)
    sets += [frozenset({literal})] if literal else []
    return max(sets, key=lambda one: (min(map(len, one)), -len(one)), default=None)


def _needed(kind: Any, argument: Any) -> frozenset[str] | None:
    if kind is _constants.SUBPATTERN:
        return _best(argument[3])
    if kind in _REPEATS:
        return _best(argument[2]) if argument[0] else None
    if kind is _constants.BRANCH:
        parts = [_best(one) for one in argument[1]]
        complete = [one for one in parts if one]
        return frozenset().union(*complete) if len(complete) == len(parts) else None
    return None


# --- Screening of texts: secrets (keys, tokens, passwords) and prompt injections -------------
# Secrets are found by `kingfisher-secret-scanner` and the additional rules of `secrets.yml`
# (docs/decisions/0004-secrets-detector.md explains why). It works offline, in linear time. Prompt
# injections are found by the patterns of `screening.toml`.

_ACCENTS = re.compile("[\u0300-\u036f]+")  # combining ones, of Latin letters
_INVISIBLE = re.compile(  # format characters, variation selectors, tags
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_LINE_BREAKS = re.compile("[\r\u0085\u2028\u2029]+")
# letters of other scripts that look Latin
_LOOK_ALIKES = str.maketrans("аеорсухіѕјԁԛԝһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxisjdqwhlABEZHIKMNOPTYXo")
_LATIN = re.compile("[a-z]")

OURS = "remembrancer."  # prefix of the rules of secrets.yml
# Many rules need white space after a key, where prose has a comma or a full stop.
_CLOSING_MARKS = bytes.maketrans(b",)]", b"   ")
_SENTENCE_ENDS = re.compile(rb"[.!?](?=\s|$)")
# languages without spaces write a key between their letters
_NON_ASCII = bytes(byte if byte < 0x80 else 0x20 for byte in range(256))
_REST = re.compile(r"""[^\s"'`<>{}()\[\],;]*""")
_KEY_LINES = re.compile(r"(?:\s*+[A-Za-z0-9+/=]{16,}+)*+")
# Every text with a secret has twelve characters in a row, or one of these words. Most turns have
# neither and need no scan. No other thread runs while a piece is searched.
_HINT_PIECE_CHARACTERS, _HINT_CHARACTERS_MAX = 20_000, 16
_HINT = re.compile(
    r"\S{12}|pass|pwd|secret|token|key|bearer|auth|credential|kennwort|contrase|senha|парол|密码|パスワード",
    re.IGNORECASE,
)
_load_lock = threading.Lock()


class DetectedSecret(NamedTuple):
    """One secret of a text: `text[start:end]`."""

    kind: str  # name in the detector, such as github-pat or password
    start: int
    end: int


def find_secrets(text: str) -> list[DetectedSecret]:
    """Return the secrets of a text in order, without overlaps.

    The first call of a process for a suspicious text takes half a second or more to load the rules.
    """
    piece_characters = _HINT_PIECE_CHARACTERS + _HINT_CHARACTERS_MAX
    starts = range(0, len(text), _HINT_PIECE_CHARACTERS)
    if not any(_HINT.search(text, start, start + piece_characters) for start in starts):
        return []
    # Replace bytes one for one, so that offsets stay valid.
    raw = text.encode("utf-8", "replace").replace(b"\x00", b" ")
    marked = raw.translate(_CLOSING_MARKS)
    letters = bytearray(marked)
    for end in _SENTENCE_ENDS.finditer(marked):  # `sub` would not give way to other threads
        letters[end.start()] = 0x20
    plain = bytes(letters)
    variants = [plain] if text.isascii() else [plain, plain.translate(_NON_ASCII)]
    findings = [
        (finding.location["start_offset"], finding.location["end_offset"], finding.rule_id)
        for variant in variants
        for finding in _scanner().scan(variant)
        if finding.visible
    ]
    if not findings:
        return []
    offsets = _character_offsets(raw, findings)
    spans = [
        (offsets[start], _secret_end(text, rule, offsets[end]), rule)
        for start, end, rule in findings
    ]
    spans.sort(key=lambda span: (span[0], -span[1], span[2].startswith(OURS)))
    return _merge_overlaps(spans)


def mask_secrets(text: str, secrets: Sequence[DetectedSecret]) -> str:
    """Replace the secrets found in a text by their kind, as in `[masked: github-pat]`."""
    parts, start = [], 0
    for secret in secrets:
        parts += [text[start : secret.start], f"[masked: {secret.kind}]"]
        start = secret.end
    return "".join([*parts, text[start:]])


def load() -> threading.Thread:
    """Load the rules in a background thread, and return the thread.

    The caller need not wait for it: the first load on a machine takes seconds and cannot be
    stopped.
    """
    thread = threading.Thread(target=_scanner, name="remembrancer-secrets", daemon=True)
    thread.start()
    return thread


def _scanner() -> Scanner:
    with _load_lock:  # not concurrently: compiling the rules takes seconds
        return _load_scanner()


@cache
def _load_scanner() -> Scanner:
    # here: 50 MB of memory and up to some seconds that a search need not wait for
    from kingfisher_sdk import Rules, Scanner

    with resources.as_file(resources.files(__package__).joinpath("secrets.yml")) as rules:
        return Scanner(Rules([rules]))


def _character_offsets(raw: bytes, findings: Sequence[tuple[int, int, str]]) -> dict[int, int]:
    """Map byte offsets to character offsets."""
    offsets, position, character = {}, 0, 0
    for offset in sorted({offset for start, end, _ in findings for offset in (start, end)}):
        character += len(raw[position:offset].decode("utf-8", "replace"))
        position = offset
        offsets[offset] = character
    return offsets


def _secret_end(text: str, rule: str, end: int) -> int:
    """Return the end of a secret; our rules match only the beginning of long ones."""
    if not rule.startswith(OURS) or rule.endswith("url-password"):
        return end
    rest = _KEY_LINES if rule.endswith("private-key") else _REST
    match = rest.match(text, end)
    return match.end() if match else end


def _merge_overlaps(spans: Sequence[tuple[int, int, str]]) -> list[DetectedSecret]:
    """Merge overlapping spans, sorted by their start."""
    merged: list[DetectedSecret] = []
    for start, end, rule in spans:
        if merged and start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, end))
        else:
            merged.append(DetectedSecret(re.split(r"[./]", rule)[-1], start, end))
    return merged


class _Techniques(NamedTuple):
    """The ways to instruct a reader, and their patterns by the texts one of which each needs."""

    names: tuple[str, ...]  # in the order of the table
    patterns: Mapping[str, Sequence[tuple[str, re.Pattern[str]]]]  # each with its technique

    def of(self, plain: str) -> set[str]:
        """Return the techniques that a normalised text in lower case has a pattern of.

        Searching for a pattern takes a hundred times as long as searching for literal text, so a
        long turn without that text is read in a fraction of the time.
        """
        possible = {one for text in self.patterns if text in plain for one in self.patterns[text]}
        return {technique for technique, pattern in possible if pattern.search(plain)}


@lru_cache(maxsize=1)
def _techniques() -> _Techniques:
    table: dict[str, dict[str, list[str]]] = read_table(__package__, "screening.toml")
    patterns: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
    for name, row in table.items():
        for pattern in map(_plain, row["patterns"]):
            compiled = re.compile(pattern, re.MULTILINE)
            for text in needed_texts(pattern) or ("",):  # every text has the empty one
                patterns[text].append((name, compiled))
    return _Techniques(tuple(table), patterns)


def _plain(text: str) -> str:
    """Normalise width, case and Latin accents, and remove invisible characters."""
    if text.isascii():  # a long turn spends most of its screening here otherwise
        return _LINE_BREAKS.sub("\n", text)
    decomposed = unicodedata.normalize("NFKD", _LINE_BREAKS.sub("\n", _INVISIBLE.sub("", text)))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))


def instruction_like(text: str) -> tuple[str, ...]:
    """Return the techniques of screening.toml by which a text tries to instruct its reader.

    Empty for most texts.
    """
    plain, techniques = _plain(text).lower(), _techniques()
    matches = techniques.of(plain)
    if not plain.isascii() and _LATIN.search(plain):
        disguised = plain.translate(_LOOK_ALIKES)
        matches |= techniques.of(disguised) if disguised != plain else set()
    return tuple(name for name in techniques.names if name in matches)
