"""Split sentences into clauses of normalized tokens, so that two statements can be compared."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ..search.text.languages import BY_CODE, normalize, stem, unaccented
from .values import Claim, Clock, Dates, Quantity, Verbatim

_TABLE = tomllib.loads(resources.files(__package__).joinpath("statements.toml").read_text("utf-8"))
LANGUAGES = frozenset(_TABLE) - {"pronouns", "titles"}
TOKENS_MAX = 60  # of a clause that is compared
_HAN = "\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+|[,;:&、，；。]")
_CONTRACTION = re.compile(r"n['’]t\b|['’]s\b", re.IGNORECASE)
_TITLES = frozenset(_TABLE["titles"]["words"].split())
_VALUE_MARK = "\ue000"  # stands for a value in a text; the next value is the next mark
_RUSSIAN_KEY_CHARACTERS = 4  # of a stem: должна and должен have the same beginning


class Statement(NamedTuple):
    """A sentence with its claims, whose offsets count from `offset` before the sentence."""

    text: str
    claims: Sequence[Claim]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class WordLists:
    """Words of one language, normalized."""

    code: str
    negations: frozenset[str]
    fillers: frozenset[str]
    linkers: frozenset[str]
    conjunctions: frozenset[str]
    splitters: frozenset[str]
    copulas: frozenset[str]
    agents: frozenset[str]
    articles: frozenset[str]
    mutual: frozenset[str]
    ended: frozenset[str]
    past: frozenset[str]
    restricting: frozenset[str]
    doubtful: re.Pattern[str]
    pronouns: frozenset[str]
    forms: dict[str, str]


class ClauseWord(NamedTuple):
    """A word or a value of a clause."""

    key: Any  # equal for equal values and for forms of one word
    form: str  # as written, in lower case
    is_value: bool
    is_capital: bool  # capitalized, but not only as the first word of its sentence
    article: str  # before it, or ""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence without its negations."""

    text: str
    tokens: tuple[ClauseWord, ...]  # without fillers
    negations: int
    negated_values: frozenset[Any]  # keys of values directly after a negation
    is_doubtful: bool  # may not mean what its words say
    is_part: bool  # of a sentence with several clauses
    is_restricted: bool  # by a condition, or by another clause that denies something
    is_ended: bool  # no longer
    is_past: bool
    lists: WordLists

    def content(self) -> list[ClauseWord]:
        """Return the tokens that say what the clause is about, without prepositions."""
        ignored = self.lists.linkers | self.lists.conjunctions | self.lists.copulas
        ignored |= self.lists.articles
        return [token for token in self.tokens if token.form not in ignored]


@cache
def word_lists(code: str) -> WordLists:
    """Return the word lists of a language."""
    row = _TABLE[code]

    def words(name: str) -> frozenset[str]:
        return frozenset(normalize(word) for word in str(row[name]).split())

    def boundary(phrase: str) -> str:
        escaped = re.escape(phrase.strip())
        return escaped if code == "zh" else rf"(?<![^\W_]){escaped}(?![^\W_])"

    names = [name for name, value in row.items() if isinstance(value, str)]
    forms = {
        normalize(form): base
        for base, others in row.get("forms", {}).items()
        for form in others.split()
    }
    pronouns = frozenset(str(_TABLE["pronouns"].get(code, "")).split())
    return WordLists(
        code=code,
        doubtful=re.compile("|".join(map(boundary, row["doubtful"]))),
        pronouns=pronouns,
        forms=forms,
        **{name: words(name) for name in names},
    )


def clauses(statement: Statement, lists: WordLists) -> list[Clause]:
    """Return the sentence itself and, if it has several clauses, each of them."""
    words = list(_words(statement, lists))[: 2 * TOKENS_MAX]
    parts: list[list[ClauseWord]] = [[]]
    for word in words:
        if word.form in lists.splitters or word.form in {",", "，"}:
            parts.append([])
        else:
            parts[-1].append(word)
    runs = [words, *(part for part in parts if len(parts) > 1 and len(part) > 1)]
    return [_clause(statement.text, run, words, lists) for run in runs]


def _clause(
    sentence: str, words: list[ClauseWord], all_words: list[ClauseWord], lists: WordLists
) -> Clause:
    plain = f" {sentence.lower().replace('’', chr(39))} "
    negated_values = {
        words[at + step].key
        for at, word in enumerate(words)
        if word.form in lists.negations
        for step in (1, 2)
        if at + step < len(words)
        and words[at + step].is_value
        and (step == 1 or words[at + 1].form in lists.linkers)
    }
    dropped = lists.negations | lists.fillers | lists.ended
    if lists.code != "de":
        dropped = dropped | lists.articles
    negations = sum(word.form in lists.negations for word in words)
    if lists.code == "fr":  # ne … pas is one negation
        negations = min(negations, 1)
    return Clause(
        text=sentence.strip(),
        tokens=tuple(word for word in words if word.form not in dropped)[:TOKENS_MAX],
        negations=negations,
        negated_values=frozenset(negated_values),
        is_doubtful="\\" in sentence or lists.doubtful.search(plain) is not None,  # no formulas
        is_part=len(words) < len(all_words),
        is_restricted=len(words) < len(all_words)
        and (
            any(word.form in lists.restricting for word in all_words)
            or sum(word.form in lists.negations for word in all_words) > negations
        ),
        is_ended=negations > 0 and any(word.form in lists.ended for word in words),
        is_past=any(word.form in lists.past for word in words),
        lists=lists,
    )


def _words(statement: Statement, lists: WordLists) -> Iterator[ClauseWord]:
    """Yield all words, values and commas of a sentence. Adjacent capitalized words are one."""
    sentence, at = statement.text, 0
    values: list[Claim] = []
    text: list[str] = []
    for claim in statement.claims:
        start, end = claim.start - statement.offset, claim.end - statement.offset
        is_word = claim.kind == "name" or (claim.weak and claim.kind == "date")
        if is_word or start < at or end > len(sentence):
            continue
        text += [sentence[at:start], f" {_VALUE_MARK} "]
        values.append(claim)
        at = end
    marked = _CONTRACTION.sub(
        lambda match: f" {match[0].replace('’', chr(39))} ", "".join([*text, sentence[at:]])
    )
    article, is_first, last_end, run = "", True, -1, list[ClauseWord]()
    remaining = iter(values)
    for match in re.finditer(rf"{_VALUE_MARK}|n't|'s|{_TOKEN.pattern}", marked, re.IGNORECASE):
        form = normalize(match[0])
        if match[0] == _VALUE_MARK:
            claim = next(remaining)
            token = ClauseWord(_value_key(claim), match[0], True, False, article)
        elif form in _TITLES:
            article, is_first = form, False
            continue
        else:
            is_capital = match[0][0].isupper() and not is_first
            token = ClauseWord(_word_key(form, lists), form, False, is_capital, article)
        joins = (
            run
            and run[-1].is_capital
            and token.is_capital
            and marked[last_end : match.start()] == " "
        )
        if joins:
            run[-1] = run[-1]._replace(key=(run[-1].key, token.key), form=f"{run[-1].form} {form}")
        else:
            yield from run
            run = [token]
        article = form if form in lists.articles else ""
        is_first, last_end = False, match.end()
    yield from run


def _value_key(claim: Claim) -> Any:
    value = claim.value
    if isinstance(value, Quantity):
        return (value.dimension, value.amounts)
    if isinstance(value, Clock):
        return ("clock", value.minutes)
    if isinstance(value, Dates):
        return ("date", value.options)
    return value.text if isinstance(value, Verbatim) else value


def _word_key(form: str, lists: WordLists) -> str:
    if form in lists.pronouns:
        return "I or you"
    if len(form) == 1 or form in ("n't", "'s"):
        return form
    base = lists.forms.get(form, form)
    key = stem(base, BY_CODE[lists.code].number)
    key = unaccented(key)
    return key[:_RUSSIAN_KEY_CHARACTERS] if lists.code == "ru" else key
