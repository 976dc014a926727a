"""Decide whether a cube may be shared: plain English of bounded length, without secrets or tricks.

Other people's agents read published cubes, which makes a cube an attack vector. Anything doubtful
stays private.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from ..protocol import limits
from ..protocol.recalled import imitated_line
from ..search.text.screening import find_secrets, instruction_like
from .english import is_english, may_be_english
from .injections import injection_family

BOUNDS = {
    "topic": limits.PUBLISHED_TOPIC_CHARACTERS_MAX,
    "essence": limits.PUBLISHED_ESSENCE_CHARACTERS_MAX,
    "rules": limits.PUBLISHED_RULES_CHARACTERS_MAX,
    "evidence": limits.PUBLISHED_EVIDENCE_CHARACTERS_MAX,
    "model": limits.CUBE_MODEL_CHARACTERS_MAX,
}
PROSE = ("topic", "essence", "rules")  # what must be English; evidence is an id or a label
# Control, format (zero width, direction, tags), unassigned, separators.
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ALLOWED = frozenset("\t\n\r\N{VARIATION SELECTOR-16}")  # the last one makes a symbol an emoji
_BLANK = re.compile("[\u2800\u3164\u115f\u1160\uffa0\u034f]")  # letters and marks that show nothing
# Variation selectors can encode bytes after any character.
_SELECTORS = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]|\ufe0f\ufe0f")
# Stacked marks that cover adjacent lines.
_STACKED = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{3}")
_LINE = r"^[\s>*#|`_~\-+.\d)]{0,20}"  # prefix with which a line still looks like one of ours
# Greek letters; letters of other scripts are not English anyway.
_LOOK_ALIKE = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανικορυχ"
# Top-level domains that are not file name extensions.
_ENDINGS = "com|org|net|info|biz|edu|gov|xyz|top|club|online|site|shop"
TRICKS: dict[str, tuple[re.Pattern[str], ...]] = {
    "a link or an address": (
        re.compile(
            r"[a-z][a-z0-9+.-]{1,20}:/{2}|\bwww\.|\b(?:mailto|javascript|vbscript|blob):\S|\b(?:data:[a-z]{1,20}|file:)/",
            re.IGNORECASE,
        ),
        re.compile(
            rf"\b[a-z0-9-]{{1,63}}\.(?:{_ENDINGS})\b|\b[a-z0-9-]{{1,63}}\.[a-z]{{2,12}}/\S",
            re.IGNORECASE,
        ),
        re.compile(r"\]\(|^\s{0,8}\[[^\]\n]{1,200}\]:", re.MULTILINE),
    ),
    "an image": (re.compile(r"!\["),),
    "HTML": (
        re.compile(r"<\s{0,4}[/!?a-z]|&(?:#\d{1,8}|#x[0-9a-f]{1,8}|[a-z]{2,32});", re.IGNORECASE),
    ),
    "a code fence": (re.compile(r"`{3}|~{3}"),),
    "a service line": (
        re.compile(_LINE + r"(?:L1|L2|CRITICAL|CUBE|CUBE_NOTHING|RATE)[\s*_`]{0,8}:", re.MULTILINE),
        re.compile(
            _LINE + r"(?:TASK_DONE|PUBLISH|DRAFT|SECOND LOOK|FINAL)[\s*_`:.]{0,8}$", re.MULTILINE
        ),
        re.compile(_LINE + r"memory\s{0,4}:\s{0,8}not\b", re.MULTILINE | re.IGNORECASE),
    ),
    "a letter that looks like another": (
        re.compile(f"[a-zA-Z][{_LOOK_ALIKE}]|[{_LOOK_ALIKE}][a-zA-Z]"),
    ),
    "a seal": (re.compile(r"\|\s{0,8}#\s{0,8}\d|READ\s{0,8}\|\s{0,8}VERIFY", re.IGNORECASE),),
    "a fence of ours": (re.compile(r"<{2}\s{0,8}/?\s{0,8}memory|memory-data", re.IGNORECASE),),
    "a turn of a conversation": (
        re.compile(
            _LINE + r"(?:system|assistant|user|developer|human|tool)[\s*_`]{0,8}:",
            re.MULTILINE | re.IGNORECASE,
        ),
        re.compile(r"<\||\|>|\[/?INST\]", re.IGNORECASE),
    ),
}


def refusal(texts: Mapping[str, str]) -> str | None:
    """Return the reason why a cube cannot be published, in one sentence; None if it can.

    `texts` are its texts by the names of BOUNDS.
    """
    for name, text in texts.items():
        if len(text) > BOUNDS[name]:
            return (
                f"Kept private: its {name} has {len(text)} characters; "
                f"the maximum for publishing is {BOUNDS[name]}."
            )
    for name, text in texts.items():
        if trick := _find_trick(text, in_rules=name == "rules"):
            return f"Kept private: its {name} contains {trick}."
    if secrets := find_secrets("\n".join(texts.values())):
        return f"Kept private: it contains a secret ({secrets[0].kind})."
    foreign = [name for name in texts if not may_be_english(texts[name])]
    if foreign:
        return f"Kept private: its {foreign[0]} is not in English."
    if not is_english("\n".join(texts[name] for name in PROSE)):
        return "Kept private: it was not recognized as English. Write whole sentences."
    return None


def _find_trick(text: str, *, in_rules: bool) -> str | None:
    if any(
        unicodedata.category(character) in _INVISIBLE_CATEGORIES and character not in _ALLOWED
        for character in text
    ):
        return "an invisible character"
    if _BLANK.search(text) or _SELECTORS.search(text):
        return "an invisible character"
    if _STACKED.search(text):
        return "stacked combining marks"
    # Readers take full-width letters for plain ones.
    plain = unicodedata.normalize("NFKC", text)
    trick = next(
        (
            name
            for name, patterns in TRICKS.items()
            if any(p.search(text) or p.search(plain) for p in patterns)
        ),
        None,
    )
    if imitated_line(text):
        return "a line that begins like one of the service"
    if trick is None and instruction_like(text):
        return "a sentence that instructs its reader"
    return trick or injection_family(text, in_rules=in_rules)
