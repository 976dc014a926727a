"""Compare a sentence with an event: does it deny what the event says, or swap who did what?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from ..protocol.patterns import regex
from ..protocol.tables import read_table
from ..search.text.languages import BY_CODE, normalize, stem, unaccented
from .values import Claim, Clock, Dates, Quantity, Verbatim

# --- Split sentences into clauses of normalized tokens, so that two statements can be compared

_TABLE = read_table(__package__, "statements.toml")
LANGUAGES = frozenset(_TABLE) - {"pronouns", "titles"}
TOKENS_MAX = 60  # of a clause that is compared
_HAN = "\u3400-\u9fff"
_TOKEN = regex(rf"[{_HAN}]|[^\W_{_HAN}]+|[,;:&、，；。]")
_CONTRACTION = regex(r"n['’]t\b|['’]s\b", re.IGNORECASE)
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
        doubtful=regex("|".join(map(boundary, row["doubtful"]))),
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


# --- Compare a sentence with an event: does it deny what the event says, or swap who did what?
# A verdict needs a clause of the sentence and a clause of the event with the same words; everything
# else stays undecided. The rules were chosen on `bench/second_look/statements_tuned.toml`, so that
# no true paraphrase is rejected.

Verdict = Literal["same", "negation", "roles"]
EXTRA_WORDS_MAX = 8  # of the event's clause, if only the order of the shared words is compared
_WORDS_MIN = 2  # of a clause that is compared, without pronouns
_OBJECT_ARTICLES = frozenset({"herrn", "dem", "den"})  # German: a word after them is no subject


def compare(
    statement: Statement, evidence: Iterable[Statement], language: str
) -> tuple[Verdict, str] | None:
    """Return a verdict with the event's sentence, or None if no clauses are comparable.

    `evidence` has sentences of the cited events. One that says the same outweighs one that
    contradicts.
    """
    if language not in LANGUAGES:
        return None
    lists = word_lists(language)
    others = [clause for one in evidence for clause in clauses(one, lists)]
    whole, *parts = [_verdict(clause, others) for clause in clauses(statement, lists)]
    for verdict in (whole, *parts):
        if verdict is not None and verdict[0] != "same":
            return verdict
    return whole or (parts[0] if parts and all(parts) else None)


def _verdict(clause: Clause, others: Sequence[Clause]) -> tuple[Verdict, str] | None:
    result: tuple[Verdict, str] | None = None
    for other in others:
        verdict = _compare_clauses(clause, other)
        if verdict == "same":
            return verdict, other.text
        if verdict is not None and result is None:
            result = verdict, other.text
    return result


def _compare_clauses(clause: Clause, other: Clause) -> Verdict | None:
    is_doubtful = clause.is_doubtful or other.is_doubtful
    if is_doubtful or max(clause.negations, other.negations) > 1:
        return None
    words = [token for token in clause.content() if not _is_person(token)]
    if len(words) < _WORDS_MIN or not any(_is_plain_word(token) for token in words):
        return None
    is_specific = any(token.is_value or token.is_capital for token in words)
    if clause.is_part and not is_specific and len(words) == _WORDS_MIN:
        return None
    if bool(clause.negations) != bool(other.negations):
        is_restricted = clause.is_restricted or other.is_restricted
        return "negation" if not is_restricted and _denies(clause, other) else None
    verdict = _compare_roles(clause, other)
    if verdict == "same" and not _says_no_more(clause, other):
        return None
    return verdict


def _denies(clause: Clause, other: Clause) -> bool:
    """Return True if one clause denies the other: same words, or a value that is ruled out."""
    if clause.is_ended or (other.is_ended and clause.is_past):
        return False  # both may be true, one after the other
    content, other_content = _counts(clause.content()), _counts(other.content())
    if content == other_content:
        is_specific = any(token.is_value or token.is_capital for token in clause.content())
        return is_specific or list(content) == list(other_content)
    for positive, negative in ((clause, other), (other, clause)):
        said = _counts(one for one in positive.content() if one.form not in clause.lists.pronouns)
        if (
            not positive.negations
            and any(key in negative.negated_values for key in said)
            and said <= _counts(negative.content())
        ):
            return True
    return False


def _says_no_more(clause: Clause, other: Clause) -> bool:
    """Return True if the event's clause has no words that may restrict what it says."""
    content = _counts(clause.content())
    extra = [token for token in other.content() if token.key not in content]
    return not extra or not (
        clause.negations or any(not (token.is_value or token.is_capital) for token in extra)
    )


def _counts(tokens: Iterable[ClauseWord]) -> Counter[Any]:
    return Counter(token.key for token in tokens)


def _compare_roles(clause: Clause, other: Clause) -> Verdict | None:
    """Compare the order of the words that both clauses have."""
    lists, mine = clause.lists, clause.tokens
    keys = _counts(mine)
    theirs = [token for token in other.tokens if token.key in keys]
    extra = [token for token in other.tokens if token.key not in keys]
    forms = {token.form for token in (*mine, *other.tokens)}
    is_ambiguous = bool(extra) and max(keys.values()) > 1
    if forms & lists.mutual or len(extra) > EXTRA_WORDS_MAX or is_ambiguous:
        return None
    if any(token.form in lists.agents for token in extra) or keys != _counts(theirs):
        return _compare_voices(clause, other)
    names = {token.key for token in (*mine, *theirs) if token.is_capital or _is_person(token)}
    if lists.code == "ru" and len(names & set(keys)) > 1:
        return _compare_cases(mine, theirs, names)
    places = [at for at, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a.key != b.key]
    if len(places) == 2:
        return "roles" if _is_swap(mine, theirs, (places[0], places[1]), names, lists) else None
    order = [token.key for token in mine if token.key in names]
    # If words have moved, only the order of two names says who does what.
    is_clear = not places or len(order) > 1
    is_same = is_clear and order == [token.key for token in theirs if token.key in names]
    return "same" if is_same else None


def _is_plain_word(token: ClauseWord) -> bool:
    """Return True for a word that is no name, value or letter of a formula."""
    is_wide = "\u3400" <= token.form[0] <= "\u9fff"
    return is_wide or not (token.is_value or token.is_capital or len(token.form) < 3)


def _is_person(token: ClauseWord) -> bool:
    return bool(token.key == "I or you")


def _is_swap(
    mine: Sequence[ClauseWord],
    theirs: Sequence[ClauseWord],
    places: tuple[int, int],
    names: set[Any],
    lists: WordLists,
) -> bool:
    """Return True if the two words that changed places had different roles."""
    first, second = places
    between, after = mine[first + 1 : second], mine[second + 1 :]
    joins = [token.form in lists.conjunctions for token in between]
    if not joins or all(joins) or (joins[0] and joins[-1]):
        return False  # members of a list
    are_names = {mine[first].key, mine[second].key} <= names
    if all(token.form in lists.copulas for token in between) and not (
        are_names and (first > 0 or after)
    ):
        return False  # "Ada is the boss" and "The boss is Ada"
    if mine[first].is_value or mine[second].is_value:
        has_word = any(_is_plain_word(token) for token in (*mine[:first], *between, *after))
        return has_word and _kind(mine[first]) == _kind(mine[second])
    pairs = [(mine[at], theirs[at]) for at in places]
    have_articles = all(a.article and b.article for a, b in pairs)
    if lists.code == "de" and are_names:
        # An object may come first: a bare noun is a subject only if another object follows.
        is_object = any(token.article in _OBJECT_ARTICLES for token in pairs[0])
        return not is_object and (have_articles or any(token.is_value for token in after))
    return are_names or have_articles or lists.code == "zh"


def _kind(token: ClauseWord) -> str:
    if not token.is_value:
        return "word"
    return str(token.key[0]) if isinstance(token.key, tuple) else "text"


def _compare_cases(
    mine: Sequence[ClauseWord], theirs: Sequence[ClauseWord], names: set[Any]
) -> Verdict | None:
    """Compare the endings of names, in a language in which their order is free."""
    forms = {token.key: token.form for token in theirs}
    changed = [token for token in mine if token.key in names and forms[token.key] != token.form]
    return "roles" if len(changed) == 2 == len(names) else None if changed else "same"


def _compare_voices(clause: Clause, other: Clause) -> Verdict | None:
    """Compare an active clause with a passive one that names the agent."""
    passives = [one for one in (clause, other) if _agent_place(one) is not None]
    if len(passives) != 1 or not _counts(clause.content()) <= _counts(other.content()):
        return None
    passive, active = passives[0], other if passives[0] is clause else clause
    at = _agent_place(passive) or 0
    be = next(i for i, t in enumerate(passive.tokens) if t.form in passive.lists.copulas)
    ignored = passive.lists.linkers | passive.lists.articles | passive.lists.copulas
    verb = next(
        (
            token.key
            for token in passive.tokens[be + 1 : at]
            if not token.is_value and not token.is_capital and token.form not in ignored
        ),
        None,
    )
    agent = passive.tokens[at + 1].key
    place = next((i for i, token in enumerate(active.tokens) if token.key == verb), 0)
    subjects = [token.key for token in active.tokens[:place] if token.form not in ignored]
    if not subjects or len(active.tokens) != len(set(_counts(active.tokens))):
        return None
    if subjects[-1] == agent:
        return "same"
    objects = {token.key for token in active.tokens[place + 1 :]}
    patients = {token.key for token in passive.tokens[:be]}
    return "roles" if agent in objects and subjects[-1] in patients else None


def _agent_place(clause: Clause) -> int | None:
    """Return the place of "by" in a passive clause that names the agent, or None."""
    forms = [token.form for token in clause.tokens]
    be = next((at for at, form in enumerate(forms) if form in clause.lists.copulas), None)
    if be is None:
        return None
    agents = clause.lists.agents
    return next((at for at in range(be + 1, len(forms) - 1) if forms[at] in agents), None)
