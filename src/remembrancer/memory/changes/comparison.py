"""Compare what two messages state: does a newer one replace an older one?"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ...protocol.patterns import regex
from .reading import HAN_FIRST, KEYS_MAX, LISTS, ME, WE, Reading, is_country, readings, stem

# --- Recognise messages that order a text: what they say is material, not a state of things --
# "Write a post for us. Our main keyword is ..." says nothing that another such order would change.

_POLITE = (
    r"(?:(?:please|now|ok(?:ay)?|and|also|bitte|s'il te plaît|por favor|per favore|пожалуйста)"
    r"[\s,]+"
    r"|(?:can|could|would|will) you (?:please )?|kannst du (?:bitte )?|könntest du (?:bitte )?"
    r"|peux-tu |pourrais-tu |puedes |podrías |puoi |potresti |можешь |(?:help me(?: to)?|let's) )*"
)
# Writing down and reminders are no texts: they state what holds.
_NOTE = (
    r"(?!\s+(?:(?:this|that|it)\s+)?down\b)(?!\s+(?:(?:es|das)\s+)?(?:dir|auf)\b)"
    r"(?!(?:\W+\w+){0,3}?\W+(?:notes?|reminders?|memos?|appointments?|events?|entry|fact"
    r"|notiz|erinnerung|termin|rappel|rendez|note|nota|recordatorio|cita|promemoria"
    r"|appuntamento|напоминание|заметку)\b)"
)
_WORDS = (
    # English nouns are spelt like the verbs: "draft deadline", "write access".
    r"(?:write|rewrite|draft|compose|translate|summari[sz]e|paraphrase|rephrase|proofread|generate"
    r"|create)(?=\s+(?:an?|the|my|our|us|me|this|th[ea]se|that|it|some|in|to|into|from|for|about"
    r"|one|two|three|\d+|up)\b)"
    r"|schreibe?|verfasse|übersetze?|formulier(?:e)?|erstelle|entwirf|generiere"
    r"|(?:schreiben|verfassen|übersetzen|formulieren|erstellen) sie"
    r"|écri(?:s|vez)|rédige[zr]?|tradui(?:s|sez)|résume[zr]?|reformule[zr]?|génère|crée"
    r"|escrib(?:e|a|eme)|escríbeme|redacta|traduce|resume(?= (?:el|la|los|las|est[eao])\b)"
    r"|reformula|genera|crea|scriv(?:i|imi)|redigi|traduc(?:i|imi)|riassumi|riformula"
    r"|напиши(?:те)?|составь(?:те)?|переведи(?:те)?|перескажи(?:те)?|сформулируй(?:те)?"
    r"|сгенерируй(?:те)?"
)
_HAN = (
    r"[请請]?(?:你|您)?(?:帮我|幫我|帮忙|幫忙|为我|為我)?"
    r"(?:[写寫](?![下道])|撰[写寫]|翻[译譯]|[总總][结結]|概括|改[写寫]|[润潤]色|[创創]作|起草)"
)
HEAD_CHARACTERS_MAX = 300  # an order is at the beginning of a message
_ORDER = regex(rf"\W*+(?:{_POLITE}(?:{_WORDS})\b{_NOTE}|{_HAN})", re.IGNORECASE)


def orders_text(message: str) -> bool:
    """Return True if a message begins with an order to write, translate or sum up something."""
    return _ORDER.match(message[:HEAD_CHARACTERS_MAX]) is not None


# --- Compare two statements: does the newer one replace the older one? -----------------------

Words = tuple[str, ...]

_FACT_WORDS_MAX = 12  # words of content; longer sentences are no plain facts
_VALUE_WORDS_MAX = 8
_UPDATE_WORDS_MAX = 16  # of the value in a statement that says it is an update
_HINT_WORDS_MAX = 3
_ADJECTIVE = regex(r"[a-z]{2,}(?:ing|ed|ful|able|ible|ous)")
_UNCERTAIN = frozenset(("question", "hedge"))
_ELSEWHEN = frozenset(("past", "ended"))


class ValueChange(NamedTuple):
    """A newer statement that replaces an older one for certain, or that may replace it."""

    certain: bool
    reason: str


_MAYBE = ValueChange(certain=False, reason="another value, which may hold beside the older one")


def change(older: str, newer: str) -> ValueChange | None:
    """Return how the newer statement changes what the older one says; None if it does not.

    `certain` means that the newer statement gives another value for the same subject and
    attribute. None means unrelated, equal or compatible. Only the texts count: who stated them,
    and when, must be compared by the caller.
    """
    hint = None
    after = [one for one in readings(newer) if _can_change(one)]
    if not after:
        return None
    earlier = [one for one in readings(older) if _can_change(one)]
    for later in after:
        for before in earlier:
            result = _compare(before, later)
            if result is None:
                continue
            if result.certain and not set(before.keys).isdisjoint(later.keys):
                return result
            hint = hint or ValueChange(certain=False, reason=result.reason)
    return hint


def change_keys(statement: str) -> frozenset[str]:
    """Return at most 6 keys of at most 64 characters; a certain change shares one of them.

    A key has the subject and the attribute, or the subject and a word of the value. Statements
    without a shared key need no comparison.
    """
    parts = [reading.keys for reading in readings(statement)]
    return frozenset([key for keys in parts for key in keys][:KEYS_MAX])


def state_keys(message: str) -> frozenset[str]:
    """Return the keys of the attributes that a message gives a value, at most 12.

    A change of a value that is certain shares one of them. Longer texts than statements, such as
    turns, say many things: words of values are no keys, as they are of statements (they linked
    nothing more), sentences without a relation give none, orders to write something neither, and
    neither do those that no statement can change: questions, guesses and what was true once.
    """
    if orders_text(message):
        return frozenset()
    parts = [
        reading.keys
        for reading in readings(message)
        if reading.relation is not None and _can_change(reading)
    ]
    return frozenset([key for keys in parts for key in keys if "|" in key][: 2 * KEYS_MAX])


def _can_change(reading: Reading) -> bool:
    """Return False for a sentence that neither replaces another one nor is replaced."""
    marks = reading.marks
    return _UNCERTAIN.isdisjoint(marks) and ("past" not in marks or "ended" in marks)


def _compare(older: Reading, newer: Reading) -> ValueChange | None:
    """Compare two sentences that `_can_change` is true of."""
    if older.content == newer.content and older.marks == newer.marks:
        return None
    if older.content[:1] == newer.content[:1] and _is_plain(older) and _is_plain(newer):
        ended = _ended(older, newer) or _replaced(older, newer)
        if ended is not None:
            return ended
    if not _ELSEWHEN.isdisjoint(older.marks | newer.marks):
        return None
    if "negation" in older.marks or "negation" in newer.marks:
        return _denied(older, newer)
    return _other_value(older, newer)


def _is_plain(reading: Reading) -> bool:
    """Return True for a short statement about somebody or something that it names."""
    return 1 < len(reading.content) <= _FACT_WORDS_MAX and "indefinite" not in reading.marks


def _ended(older: Reading, newer: Reading) -> ValueChange | None:
    """Return a change if one of the statements says that the state of the other has ended."""
    is_end, was_end = "ended" in newer.marks, "ended" in older.marks
    if is_end == was_end:
        return None
    other = older.marks if is_end else newer.marks
    if "negation" in other or "past" in other:
        return None
    if is_end and set(newer.content) <= set(older.content):
        return ValueChange(certain=True, reason="the newer statement says that this has ended")
    if was_end and set(newer.content) == set(older.content):
        return ValueChange(certain=True, reason="the newer statement says that this holds again")
    return None


def _replaced(older: Reading, newer: Reading) -> ValueChange | None:
    """Return a change if the newer statement names the older value as replaced."""
    if "negation" in older.marks or "past" in older.marks | newer.marks:
        return None
    if older.relation and newer.relation and older.subject.words != newer.subject.words:
        return None
    heads = _value_heads(older)
    for part in newer.replaced:
        if part[0] not in LISTS["first_person"] and stem(part[0]) in heads:
            return ValueChange(
                certain=True, reason="the newer statement names the older value as replaced"
            )
    return None


def _value_heads(reading: Reading) -> set[str]:
    """Return the words that name the value of a statement."""
    if reading.relation is None or not reading.value:
        return set(reading.content[1:])
    return {reading.stems[0], *reading.times} - set(reading.subject.words)


def _denied(older: Reading, newer: Reading) -> ValueChange | None:
    if older.marks == newer.marks or not _is_plain(older) or older.content != newer.content:
        return None
    if "negation" in older.marks and "negation" in newer.marks:
        return None
    return ValueChange(certain=True, reason="one statement denies the other")


def _other_value(older: Reading, newer: Reading) -> ValueChange | None:
    """Compare the values of one attribute of one subject."""
    first, second = older.relation, newer.relation
    if first is None or second is None or not _is_of_one_attribute(older, newer):
        return None
    if second.rule == "cancelled":
        is_plan = older.kind == "time" or first.rule in ("time", "event")
        return ValueChange(certain=is_plan, reason="the newer statement says that it was cancelled")
    before, after = _unlike_parts(older.stems, newer.stems)
    if set(before) <= set(after) or set(after) <= set(before):
        return None  # equal, or one says more than the other, or one has no value
    if "event" in (first.rule, second.rule):
        return _by_event(older, newer)
    name = first.rule if second.is_event else second.rule
    if name in _MEASURED and _is_measure(older, newer):
        return _by_measure(older, newer)
    return _RULES[name](older, newer, before, after)


def _is_of_one_attribute(older: Reading, newer: Reading) -> bool:
    """Return True if both state a current value of one attribute of one subject."""
    first, second = older.relation, newer.relation
    if first is None or second is None or first.attribute != second.attribute:
        return False
    if not older.subject.words or older.subject.words != newer.subject.words:
        return False
    return "past" not in (first.rule, second.rule) and first.rule != "cancelled"


def _unlike_parts(older: Words, newer: Words) -> tuple[Words, Words]:
    """Return what is left of two values without their common end."""
    count = 0
    while count < min(len(older), len(newer)) and older[-1 - count] == newer[-1 - count]:
        count += 1
    return older[: len(older) - count], newer[: len(newer) - count]


def _certain(older: Reading, newer: Reading) -> ValueChange:
    before, after = " ".join(older.value), " ".join(newer.value)
    return ValueChange(certain=True, reason=f"another value: {before} -> {after}")


def _is_measure(older: Reading, newer: Reading) -> bool:
    return not {"time", "number"}.isdisjoint((older.kind, newer.kind))


def _by_measure(older: Reading, newer: Reading) -> ValueChange | None:
    """Compare values of which at least one is a time or a number."""
    if older.kind != newer.kind:
        return None
    if older.kind == "time":
        kinds = _unlike_times(older.times, newer.times)
        is_one = len(kinds) == 1 or "event" in (older.rule, newer.rule)
        return (_certain(older, newer) if is_one else _MAYBE) if kinds else None
    first, second = older.value, newer.value
    is_other = newer.is_update and first[0] != second[0] and first[1:2] == second[1:2]
    if _numbers_differ(first, second) or (is_other and first[0][0].isdigit()):
        return _certain(older, newer)
    return _MAYBE if first[-1:] == second[-1:] else None


def _unlike_times(older: Words, newer: Words) -> list[str]:
    """Return the kinds (date, weekday, time) in which two values exclude each other.

    Two unlike kinds are two meetings rather than a new date: on Monday at 9, on Tuesday at 11.
    """
    kinds = []
    for kind in "dwt":
        first = [word for word in older if word[1] == kind]
        second = [word for word in newer if word[1] == kind]
        if first and second and not any(_compatible(a, b) for a in first for b in second):
            kinds.append(kind)
    return kinds


def _compatible(first: str, second: str) -> bool:
    """Return True if two dates may be one day: 1 May is compatible with 1 May 2026 and with May."""
    parts = zip(first[2:].split("-"), second[2:].split("-"), strict=False)
    return all(not a or not b or a == b for a, b in parts)


def _numbers_differ(older: Words, newer: Words) -> bool:
    """Return True if the values have the same words and other numbers."""
    if len(older) != len(newer):
        return False
    pairs = [(a, b) for a, b in zip(older, newer, strict=True) if a != b]
    return bool(pairs) and all(a[0].isdigit() and b[0].isdigit() for a, b in pairs)


def _by_name(older: Reading, newer: Reading, before: Words, after: Words) -> ValueChange | None:
    are_names = older.is_name and newer.is_name and older.kind == newer.kind
    are_events = all(one.relation is not None and one.relation.is_event for one in (older, newer))
    if not are_names or are_events or is_country(before) != is_country(after):
        # A town and its country hold together; "moved to" is also said of tools.
        return _MAYBE if newer.is_update or older.is_name == newer.is_name else None
    return _certain(older, newer)


def _by_any(older: Reading, newer: Reading, *_: Words) -> ValueChange | None:
    if older.noun.is_several:
        return None
    return _certain(older, newer) if older.is_name == newer.is_name else _MAYBE


def _by_fixed(older: Reading, newer: Reading, *_: Words) -> ValueChange | None:
    return None if older.noun.is_several else _certain(older, newer)


def _by_group(older: Reading, newer: Reading, before: Words, after: Words) -> ValueChange | None:
    if _are_of_one_group(older, newer):
        return _certain(older, newer)
    return _MAYBE if max(len(before), len(after)) <= _HINT_WORDS_MAX else None


def _by_version(older: Reading, newer: Reading, *_: Words) -> ValueChange | None:
    if older.kind == newer.kind == "number" and _numbers_differ(older.value, newer.value):
        return _certain(older, newer)
    return _MAYBE if newer.is_update else None


def _by_hint(older: Reading, newer: Reading, before: Words, after: Words) -> ValueChange | None:
    is_short = max(len(before), len(after)) <= _HINT_WORDS_MAX
    if older.is_name != newer.is_name or not is_short:
        return None
    return _certain(older, newer) if newer.is_update else _MAYBE


def _by_several(older: Reading, newer: Reading, *_: Words) -> ValueChange | None:
    is_count = older.value[0][0].isdigit() and newer.value[0][0].isdigit()
    is_change = is_count and _numbers_differ(older.value, newer.value)
    return _certain(older, newer) if is_change else None


def _by_value(older: Reading, newer: Reading, before: Words, after: Words) -> ValueChange | None:
    """Compare after "is": the subject and the kinds of the values decide."""
    if older.noun.is_several or _are_of_one_group(older, newer):
        return None if older.noun.is_several else _certain(older, newer)
    is_update = newer.is_update
    longest = max(len(before), len(after))
    are_names = older.is_name and newer.is_name
    is_described = any(_ADJECTIVE.fullmatch(one.value[0]) for one in (older, newer))
    is_long = longest > (_UPDATE_WORDS_MAX if is_update else _VALUE_WORDS_MAX)
    if is_long or (is_described and not are_names):
        return None
    is_possessed = older.subject.is_possessed
    is_attribute = older.noun.is_attribute and (is_possessed or are_names or is_update)
    is_exact = older.noun.is_exact and longest <= _HINT_WORDS_MAX
    if longest == 1 and not (are_names or is_exact or is_update or _is_han(older)):
        return None  # an adjective says how something is: "my phone is broken"
    is_thing = is_possessed and are_names and not _is_han(older)
    is_named = is_possessed and is_update and (are_names or len(older.subject.words) > 2)
    if is_attribute or is_exact or is_thing or is_named:
        return _certain(older, newer)
    return _MAYBE if is_update and longest <= _HINT_WORDS_MAX else None


def _are_of_one_group(older: Reading, newer: Reading) -> bool:
    """Return True if the values are of one group, such as colours, and begin unlike."""
    if older.group is None or older.group != newer.group:
        return False
    return _is_han(older) or older.stems[0] != newer.stems[0]


def _is_han(reading: Reading) -> bool:
    return any(word[0] >= HAN_FIRST for word in reading.value)


def _by_event(older: Reading, newer: Reading) -> ValueChange | None:
    if _is_measure(older, newer):
        return _by_measure(older, newer) or _MAYBE
    return _MAYBE if older.subject.words in ((ME,), (WE,)) else _certain(older, newer)


_RULES: dict[str, Callable[..., ValueChange | None]] = {
    "name": _by_name,
    "any": _by_any,
    "fixed": _by_fixed,
    "group": _by_group,
    "version": _by_version,
    "hint": _by_hint,
    "several": _by_several,
    "copula": _by_value,
    "time": _by_value,
    "number": _by_value,
    "cancelled": _by_value,
}
# Rules that compare times and numbers by what they measure.
_MEASURED = frozenset(("any", "fixed", "hint", "copula", "time", "number", "cancelled"))
