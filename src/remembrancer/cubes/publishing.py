"""Decide whether a cube may be shared: plain English of bounded length, without secrets or tricks.

Other people's agents read published cubes, which makes a cube an attack vector. Anything doubtful
stays private.

A lesson says how to do a task. An injection speaks to the model instead: it sets its instructions
aside, gives it another role, asks for its secrets, or wants something done unseen. Its phrasings
vary, but each family needs certain pairs of words (injections.toml). The patterns are written for
short English texts; screening.py has those for turns in any language. `python -m
bench.injections` measures them on lists that others published.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ..protocol import limits
from ..protocol.patterns import regex
from ..protocol.recalled import imitated_line
from ..protocol.tables import read_table
from ..screening import find_secrets, instruction_like
from ..search.text.analysis import words
from ..search.text.languages import BY_CODE, LANGUAGES

# Of a text's words. English prose has 0.3 to 0.5, the tersest rule in the tests 0.12.
ENGLISH_SHARE_MIN = 0.08
ACCENTED_SHARE_MAX = 0.1  # of a text's words: names and loan words such as naïve
ACCENTED_MIN = 3  # accented words that are allowed in a text of any length
_QUOTED = regex(  # a few words
    r"\"[^\"\n]{1,60}\"|\u201c[^\u201d\n]{1,60}\u201d|\u201e[^\u201c\u201d\n]{1,60}[\u201c\u201d]"
    r"|\u00ab[^\u00bb\n]{1,60}\u00bb|`[^`\n]{1,60}`"
)
_GREEK = regex("[\u0370-\u03ff]")
_LETTERS = ("LATIN ", "GREEK ", "MICRO ")  # Greek for units and formulas
# Words of instructions that no other language of the table has. MUST and SHALL occur in rules of
# any language.
_INSTRUCTIONS = frozenset(
    words(
        "add after again against all always any avoid because before below between both call "
        "change check clear close create each else ensure every except few find first follow "
        "give given good greater has help if instead keep known last leave less let like longer "
        "look make many may merge might more most move much need needs never new next now off "
        "once one only open other out own pass prefer put read remove replace return reuse run "
        "same save see send set should since some start still stop such take tell test these "
        "think through try two under unless until up use used uses using verify wait want way "
        "well while whole with within without work works write "
    )
)
_ENGLISH = (BY_CODE["en"].stop - {"must", "shall"}) | _INSTRUCTIONS
_OTHERS = [
    language.stop - _ENGLISH
    for language in LANGUAGES
    if language.script == "latin" and language.code != "en"
]
_MACRO = regex(r"<([A-Z]+)>")
# Lessons about good habits say these things with a "not"; an injection says them without.
_NEGATED = regex(
    r"\b(?:(?:not|never)(?! (?:hesitate|fail|forget|wait|only|just|stop|worry))|nor|avoid|without"
    r"|cannot|n't|instead of|rather than|refuse to)\b[^.!?]{0,80}$"
)
_DISGUISED = ("override", "prompts")  # families that are searched in decoded texts, too
_DECODE = regex(
    r"\b(?:decode|decrypt|decipher|unscramble|rot-?13|base-?64|caesar|hex(?:adecimal)?|morse"
    r"|backwards)\b[^.!?]{0,80}"
    r"\b(?:follow|execute|obey|carry out|do what|act on|comply|respond|answer)\b",
    re.IGNORECASE,
)
_ESCAPES = regex(r"(?:\\x[0-9a-f]{2}|%[0-9a-f]{2}|\\u00[0-9a-f]{2}){4,}", re.IGNORECASE)
_BASE64 = regex(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = regex(r"(?:[0-9a-f]{2}[ :]?){12,}", re.IGNORECASE)
_BINARY = regex(r"(?:[01]{7,8}\s){6,}")
_SPACED = regex(r"\b(?:[A-Za-z][ .\-_*]){5,}[A-Za-z]\b")
_LEET = str.maketrans("0134578@$", "oieastbas")
_LEET_WORD = regex(r"\b(?=\w*[a-z])(?=\w*[0-9@$])[\w@$]{4,}\b", re.IGNORECASE)
_WORDS_MIN = 2  # words of decoded bytes that are text
_ENCODED = "an encoded text"
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
_BLANK = regex("[\u2800\u3164\u115f\u1160\uffa0\u034f]")  # letters and marks that show nothing
# Variation selectors can encode bytes after any character.
_SELECTORS = regex("[\ufe00-\ufe0e\U000e0100-\U000e01ef]|\ufe0f\ufe0f")
# Stacked marks that cover adjacent lines.
_STACKED = regex("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{3}")
_LINE = r"^[\s>*#|`_~\-+.\d)]{0,20}"  # prefix with which a line still looks like one of ours
# Greek letters; letters of other scripts are not English anyway.
_LOOK_ALIKE = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανικορυχ"
# Top-level domains that are not file name extensions.
_ENDINGS = "com|org|net|info|biz|edu|gov|xyz|top|club|online|site|shop"
TRICKS: dict[str, tuple[re.Pattern[str], ...]] = {
    "a link or an address": (
        regex(
            r"[a-z][a-z0-9+.-]{1,20}:/{2}|\bwww\.|\b(?:mailto|javascript|vbscript|blob):\S|\b(?:data:[a-z]{1,20}|file:)/",
            re.IGNORECASE,
        ),
        regex(
            rf"\b[a-z0-9-]{{1,63}}\.(?:{_ENDINGS})\b|\b[a-z0-9-]{{1,63}}\.[a-z]{{2,12}}/\S",
            re.IGNORECASE,
        ),
        regex(r"\]\(|^\s{0,8}\[[^\]\n]{1,200}\]:", re.MULTILINE),
    ),
    "an image": (regex(r"!\["),),
    "HTML": (regex(r"<\s{0,4}[/!?a-z]|&(?:#\d{1,8}|#x[0-9a-f]{1,8}|[a-z]{2,32});", re.IGNORECASE),),
    "a code fence": (regex(r"`{3}|~{3}"),),
    "a service line": (
        regex(_LINE + r"(?:L1|L2|CRITICAL|CUBE|CUBE_NOTHING|RATE)[\s*_`]{0,8}:", re.MULTILINE),
        regex(
            _LINE + r"(?:TASK_DONE|PUBLISH|DRAFT|SECOND LOOK|FINAL)[\s*_`:.]{0,8}$", re.MULTILINE
        ),
        regex(_LINE + r"memory\s{0,4}:\s{0,8}not\b", re.MULTILINE | re.IGNORECASE),
    ),
    "a letter that looks like another": (
        regex(f"[a-zA-Z][{_LOOK_ALIKE}]|[{_LOOK_ALIKE}][a-zA-Z]"),
    ),
    "a seal": (regex(r"\|\s{0,8}#\s{0,8}\d|READ\s{0,8}\|\s{0,8}VERIFY", re.IGNORECASE),),
    "a fence of ours": (regex(r"<{2}\s{0,8}/?\s{0,8}memory|memory-data", re.IGNORECASE),),
    "a turn of a conversation": (
        regex(
            _LINE + r"(?:system|assistant|user|developer|human|tool)[\s*_`]{0,8}:",
            re.MULTILINE | re.IGNORECASE,
        ),
        regex(r"<\||\|>|\[/?INST\]", re.IGNORECASE),
    ),
}


def is_english(text: str) -> bool:
    """Return True if a text of at least a sentence is English; False in doubt."""
    total, english, _ = _count_words(_without_names(text))
    return bool(total) and english >= ENGLISH_SHARE_MIN * total and may_be_english(text)


def may_be_english(text: str) -> bool:
    """Return True unless something shows that a text is in another language.

    The text may be only a word or two. Names with accents and quoted words may be of any language.
    """
    if any(
        character.isalpha() and not unicodedata.name(character, "").startswith(_LETTERS)
        for character in _QUOTED.sub(" ", text)
    ):
        return False
    text = _without_names(text)
    total, english, other = _count_words(text)
    accented = sum(1 for word in words(text) if not word.isascii() and not _GREEK.match(word))
    return other <= max(english, 1) and accented <= max(ACCENTED_MIN, ACCENTED_SHARE_MAX * total)


def _without_names(text: str) -> str:
    """Return a text without its quoted words and its capitalised words with an accent."""
    return " ".join(
        word
        for word in _QUOTED.sub(" ", text).split()
        if word.isascii() or not word.lstrip("([").istitle()
    )


def _count_words(text: str) -> tuple[int, int, int]:
    """Return the numbers of words, of English words, and of words of the likeliest other one."""
    counts = Counter(word for word in words(text) if len(word) > 1 and not word.isdigit())
    english = sum(count for word, count in counts.items() if word in _ENGLISH)
    other = max(sum(count for word, count in counts.items() if word in stop) for stop in _OTHERS)
    return counts.total(), english, other


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
    table = read_table(__package__, "injections.toml")
    words = table["words"]
    return {
        name: _Family(
            title=row["title"],
            patterns=tuple(
                regex(_MACRO.sub(lambda match: words[match[1]], pattern))
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
        shares = {name: _english_share(texts[name]) for name in PROSE[1:]}  # a topic is no sentence
        name = min(shares, key=lambda one: shares[one])
        return f"Kept private: its {name} was not recognized as English. Write whole sentences."
    return None


def _english_share(text: str) -> float:
    total, english, _ = _count_words(_without_names(text))
    return english / max(total, 1)


def _find_trick(text: str, *, in_rules: bool) -> str | None:
    is_hidden = any(
        unicodedata.category(character) in _INVISIBLE_CATEGORIES and character not in _ALLOWED
        for character in text
    )
    if is_hidden or _BLANK.search(text) or _SELECTORS.search(text):
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
