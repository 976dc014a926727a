"""L2: the map of a user's L1s, stored in versions; extractive where no model is configured."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...context import Caller, Context
from ...cubes.fit import terms_of
from ...protocol.errors import NotFound
from ...protocol.summaries import MadeBy, MapQuery, MapRequest, MapUpdated, MapVersion
from ...protocol.text import rfc3339
from ...search import IndexEntry, index_entries
from ...search.text.analysis import words
from ...search.text.languages import QUESTION_END, detect
from ...store import Row, Transaction
from ...store.rows import read_row
from ..duties import is_l2_due
from ..layers import Layer, add_layer, layer_text
from ..spaces import AFTER_ALL, past_ms, split_page
from ..spaces import SQL as SPACES
from .l1 import SQL

# --- Extractive summaries: sentences copied verbatim, so that nothing is invented and no model is
# needed.
#
# Sentences are chosen greedily, each the one that adds most new content for its length. Rare words
# count more than frequent ones, names and numbers more than other words. Source of the method: Lin,
# Bilmes, "A Class of Submodular Functions for Document Summarization", ACL 2011. Nearness to the
# mean of all vectors preserved less than chance did, so no embedder is used.

# Shorter sentences ("Thanks!") are used only if there are no others.
SENTENCE_CHARACTERS_MIN = 25
# Longer sentences are split at clauses, or at words if they have no clauses.
SENTENCE_CHARACTERS_MAX = 300
REPEATED_WORD_FACTOR = 0.5  # of a word's worth, for each earlier occurrence
SPECIFIC = 0.3  # share that each name or number adds to a sentence's worth
SPECIFIC_MAX = 3
QUESTION_FACTOR = 0.5  # worth of a question relative to a statement
_SENTENCE = re.compile(
    r"""[^.!?。！？؟।\n]+(?:[.!?](?=\w)[^.!?。！？؟।\n]+)*[.!?。！？؟।]*["”’»)\]]*"""
)
# Where to cut a long sentence, best first.
_CLAUSES = (
    re.compile(r"(?<=[,;:，；：、،])\s*|\s(?=[(–—])"),
    re.compile(r"\s+"),
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_SPECIFIC = re.compile(r"\d+|(?<=\s)[^\W\d_a-z]\w+")


class Headline(NamedTuple):
    """A sentence and its place. `text` is the index of its text."""

    text: int
    place: int
    sentence: str


def sentences(text: str) -> list[str]:
    """Split a text into sentences, without list markers; very long sentences in pieces."""
    candidates = (
        _BULLET.sub("", match[0]).strip()
        for line in text.splitlines()
        for match in _SENTENCE.finditer(line)
    )
    return [
        piece
        for sentence in candidates
        for piece in _pieces(sentence)
        if any(character.isalnum() for character in piece)
    ]


def _pieces(sentence: str) -> Iterator[str]:
    """Split a sentence into pieces of at most SENTENCE_CHARACTERS_MAX characters.

    Cuts at the last clause that fits, else at the last word.
    """
    start = 0
    while len(sentence) - start > SENTENCE_CHARACTERS_MAX:
        end = start + SENTENCE_CHARACTERS_MAX
        for cut in _CLAUSES:
            places = [
                match.start()
                for match in cut.finditer(sentence, start + SENTENCE_CHARACTERS_MIN, end)
            ]
            if places:
                end = places[-1]
                break
        yield sentence[start:end].strip()
        start = end
    yield sentence[start:].strip()


def headlines(
    texts: Sequence[str], characters: int, each: int = 0, known_sentences: Sequence[str] = ()
) -> list[Headline]:
    """Return the most informative sentences within a number of characters, in text order.

    Returns at least one sentence if there is any. `each` is an extra cost in characters for each
    text that gets a sentence. Sentences of `known_sentences` were chosen before; their content adds
    little. A sentence longer than the budget is skipped unless it is the only choice.
    """
    all_sentences = [
        Headline(number, place, sentence)
        for number, text in enumerate(texts)
        for place, sentence in enumerate(sentences(text))
    ]
    candidates = [
        headline for headline in all_sentences if len(headline.sentence) >= SENTENCE_CHARACTERS_MIN
    ] or all_sentences
    if not candidates:
        return []
    chosen = _select(candidates, characters, each, known_sentences)
    return sorted(chosen) or [min(candidates, key=lambda headline: len(headline.sentence))]


def _select(
    candidates: Sequence[Headline], characters: int, each: int, known_sentences: Sequence[str]
) -> list[Headline]:
    content = [_content(one.sentence) for one in candidates]
    sentence_counts = Counter(word for sentence_words in content for word in sentence_words)
    worth = {
        word: math.log((1 + len(candidates)) / count) for word, count in sentence_counts.items()
    }
    covered = Counter(word for sentence in known_sentences for word in _content(sentence))
    used_texts: set[int] = set()  # with a selected sentence
    characters_left = characters
    selection: list[Headline] = []

    def gain(number: int) -> float:
        """Return the worth that a sentence adds for each of its characters."""
        sentence = candidates[number].sentence
        adds = sum(worth[word] * REPEATED_WORD_FACTOR ** covered[word] for word in content[number])
        adds *= 1 + SPECIFIC * min(len(_SPECIFIC.findall(sentence)), SPECIFIC_MAX)
        return adds * (QUESTION_FACTOR if QUESTION_END.search(sentence) else 1) / len(sentence)

    waiting = [(-gain(number), number) for number in range(len(candidates))]
    heapq.heapify(waiting)
    while waiting:
        _, number = heapq.heappop(waiting)
        cost = len(candidates[number].sentence) + each * (candidates[number].text not in used_texts)
        if cost > characters_left:
            continue
        current = -gain(number)  # selected sentences can only reduce the gain of others
        if waiting and current > waiting[0][0]:
            heapq.heappush(waiting, (current, number))
            continue
        selection.append(candidates[number])
        characters_left -= cost
        used_texts.add(candidates[number].text)
        covered.update(content[number])
    return selection


def _content(sentence: str) -> tuple[str, ...]:
    """Return the distinct content words of a sentence, in order.

    A fixed order makes sums of their worth reproducible to the last bit.
    """
    sentence_words = words(sentence)
    stop = detect(sentence_words, sentence).stop
    return tuple(dict.fromkeys(word for word in sentence_words if word not in stop))


# --- L2: the map of a user's L1s, stored in versions -----------------------------------------
# Its agent writes it, or it is built from extractive headlines or by a model.

AGENT = "agent"  # values of `made_by`
NOTE = "note"  # sent by an agent as a map, but it shares too little with the L1s
SHARED_MIN = 1 / 3  # more than this share of a map's terms must be in the L1s or the map before
SOURCES_COMPARED_MAX = 50  # latest L1s that a map is compared with
NO_MAP = (
    "Kept as a note, which does not count as the map: it shares too little with the L1s that it is "
    "to cover. Write headlines over them, or call POST /api/v7/memory/map."
)
HEADLINES: MadeBy = "headlines"
MODEL: MadeBy = "model"
MAP_SHARE = 0.05  # of the length of the L1s
MAP_CHARACTERS_LEAST = 1_200  # budget of a map of few L1s, whose 5 % would be too short
VERSIONS_LISTED_MAX = 50
LINE_CHARACTERS = 34  # of a line without its headlines: the date and the id


class MapUnknown(NotFound):
    """There is no such version of this map. See `versions` of GET /api/v7/memory/map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLines:
    """Lines that summarise L1s, their author, and further fields of the answer."""

    lines: Sequence[str]
    made_by: MadeBy
    answer_fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """The sources of a new map: the agent's own map and the L1s it does not cover.

    `newest` is the current map.
    """

    l1_count: int = 0
    newest: Row | None = None
    agents: str | None = None
    new: Sequence[Row] = ()
    any_l1: bool = False


Summarizer = Callable[[Sequence[Row]], MapLines]


def extractive_map(l1s: Sequence[Row]) -> MapLines:
    """Return headlines of these L1s, one line for each L1."""
    return MapLines(lines=headlines_of(l1s, map_budget(l1s)), made_by=HEADLINES)


def update_map(
    context: Context,
    caller: Caller,
    request: MapRequest,
    idempotency: IdempotentRequest | None = None,
    tell: Summarizer | None = None,
) -> MapUpdated:
    """Build a new version of the map: the agent's last map, then a summary of newer L1s.

    `tell` summarises them; without it, headlines are extracted. A map by a model that covers all
    L1s is kept, because models phrase the same content differently each time. Raises Forbidden,
    IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, request.user_id)
    answer = None
    while answer is None:  # repeated only if an L1 or a map was stored meanwhile
        # Summarising takes time, so it happens outside the write transaction.
        sources = context.store.read(
            lambda tx: _sources(tx, user_id, request.session_count),
            account_id=caller.account_id,
        )
        map_lines = None
        if sources.any_l1 and not (tell and _is_current(sources, request)):
            map_lines = (tell or extractive_map)(sources.new)
        own = [] if sources.agents is None else [sources.agents]
        text = "\n".join([*own, *map_lines.lines]) if map_lines else ""
        entry = index_entries(context.writer, [layer_text(text)])[0] if text else None
        answer = context.store.write(
            partial(_store_update, context, user_id, sources, map_lines, text, entry, idempotency),
            account_id=caller.account_id,
        )
    return MapUpdated.model_validate_json(answer)


def _is_current(sources: _Sources, request: MapRequest) -> bool:
    newest = sources.newest
    return (
        request.session_count is None
        and newest is not None
        and newest.made_by == MODEL
        and newest.l1_count == sources.l1_count
    )


def _store_update(
    context: Context,
    user_id: str,
    sources: _Sources,
    map_lines: MapLines | None,
    new_text: str,
    entry: IndexEntry | None,
    idempotency: IdempotentRequest | None,
    tx: Transaction,
) -> str | None:
    """Return the answer, or None if the sources are out of date."""
    space = tx.one_or_none(SPACES.space_of, user_id=user_id)
    newest = tx.one_or_none(SQL.newest_map, space_id=space.id) if space else None
    if (space.l1_count if space else 0, newest) != (sources.l1_count, sources.newest):
        return None

    def write() -> str:
        text, version = (newest.text, newest.version) if newest else ("", 0)
        if space is not None and map_lines is not None and entry is not None:
            text, made_by = new_text, map_lines.made_by
            version = store_map(
                context, tx, space_id=space.id, text=text, made_by=made_by, entry=entry
            )
        updated = version != (newest.version if newest else 0)
        answer_fields = map_lines.answer_fields if map_lines else {}
        return MapUpdated(
            updated=updated,
            map_text=text,
            l1_count=sources.l1_count,
            version=version,
            **answer_fields,
        ).model_dump_json()

    return idempotent(tx, idempotency, context.clock(), write)


def store_map(
    context: Context,
    tx: Transaction,
    *,
    space_id: int,
    text: str,
    made_by: str,
    entry: IndexEntry,
) -> int:
    """Store a map as the newest version and return its number.

    `entry` is the index entry of its `layer_text`. The text is stripped of surrounding white space.
    A text equal to the newest version is not stored again. The map then counts as covering every
    L1 of the space.
    """
    newest = tx.one_or_none(SQL.newest_map, space_id=space_id)
    if newest is not None and newest.text == text.strip():
        version = newest.version
    else:
        version = _add_version(context, tx, space_id, text, made_by)
        add_layer(tx, space_id=space_id, layer=Layer.MAP, item=version, entry=entry)
    tx.run(SQL.note_map, space_id=space_id)
    return int(version)


def _add_version(context: Context, tx: Transaction, space_id: int, text: str, made_by: str) -> int:
    latest = tx.one_or_none(SQL.latest_version, space_id=space_id)
    version = latest.version + 1 if latest else 1
    values = {"text": text.strip(), "made_by": made_by, "now_ms": context.clock()}
    tx.run(SQL.add_map, space_id=space_id, version=version, **values)
    return version


class AgentsMap(NamedTuple):
    """The version under which an agent's map is stored, and why it is only a note."""

    version: int
    is_known: bool
    warning: str | None = None


def store_agents_map(
    context: Context, tx: Transaction, *, space_id: int, text: str, entry: IndexEntry
) -> AgentsMap:
    """Store the map that an agent wrote; as a note if it shares too little with the L1s."""
    latest = tx.one_or_none(SQL.latest_version, space_id=space_id)
    if latest is not None and latest.text == text.strip() and latest.made_by == NOTE:
        return AgentsMap(latest.version, is_known=True, warning=NO_MAP)
    newest = tx.one_or_none(SQL.newest_map, space_id=space_id)
    sources = [row.text for row in tx.all(SQL.l1s, space_id=space_id)[-SOURCES_COMPARED_MAX:]]
    if not _is_map_of(text, [*sources, newest.text if newest else ""]):
        version = _add_version(context, tx, space_id, text, NOTE)
        return AgentsMap(version, is_known=False, warning=NO_MAP)
    version = store_map(context, tx, space_id=space_id, text=text, made_by=AGENT, entry=entry)
    return AgentsMap(version, is_known=newest is not None and newest.version == version)


def _is_map_of(text: str, sources: Sequence[str]) -> bool:
    terms = {term for term in terms_of(text) if not term.isdigit()}
    shared = terms & frozenset().union(*map(terms_of, sources))
    return len(shared) > SHARED_MIN * len(terms)


def map_version(context: Context, caller: Caller, request: MapQuery) -> MapVersion:
    """Return one version of the map; the newest, or that of `as_of`, if the request names none.

    Raises MapUnknown, TimeInFuture, Forbidden, StoreUnavailable.
    """
    user_id = space_user_id(caller, request.user_id)
    as_of_ms = past_ms(context, request.as_of)

    def read(tx: Transaction) -> MapVersion:
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        latest = tx.one_or_none(SQL.latest_version, space_id=space.id) if space else None
        if space is None or latest is None:
            raise MapUnknown
        if request.version is not None:
            row = tx.one_or_none(SQL.map_of_version, space_id=space.id, version=request.version)
        elif as_of_ms is not None:
            row = tx.one_or_none(SQL.map_at, space_id=space.id, until_ms=as_of_ms)
        else:
            row = tx.one_or_none(SQL.newest_map, space_id=space.id)
        if row is None:
            raise MapUnknown
        fields = {"user_id": user_id, "map_text": row.text, "versions": latest.version}
        return read_row(MapVersion, row, **fields)

    return context.store.read(read, account_id=caller.account_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapVersions:
    """The versions of a map, newest first, and its current state.

    Each row has version, l1_count, made_by, created_ms and characters.
    """

    versions: list[Row]
    next: int | None  # cursor of the next page
    l1_count: int = 0  # L1s of the space
    l1_mapped: int = 0  # L1s that the newest map covers
    is_due: bool = False


def map_history(
    context: Context, caller: Caller, user_id: str, *, below: int | None = None
) -> MapVersions:
    """Return a page of the versions of a user's map, below version `below`.

    Empty if there is no map. Raises PinnedToOtherUser.
    """
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> MapVersions:
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        if space is None:
            return MapVersions(versions=[], next=None)
        page = {"below": below or AFTER_ALL, "most": VERSIONS_LISTED_MAX + 1}
        rows = tx.all(SQL.map_versions, space_id=space.id, **page)
        versions, last = split_page(rows, VERSIONS_LISTED_MAX)
        state = {
            "l1_count": space.l1_count,
            "l1_mapped": space.l1_mapped,
            "is_due": is_l2_due(space.l1_count, space.l1_mapped),
        }
        return MapVersions(versions=versions, next=last and last.version, **state)

    return context.store.read(read, account_id=caller.account_id)


def _sources(tx: Transaction, user_id: str, session_count: int | None) -> _Sources:
    space = tx.one_or_none(SPACES.space_of, user_id=user_id)
    if space is None:
        return _Sources()
    agents = tx.one_or_none(SQL.agents_map, space_id=space.id)
    l1s = tx.all(SQL.l1s, space_id=space.id)
    new = l1s[agents.l1_count if agents else 0 :]
    if session_count is not None:
        latest = list(dict.fromkeys(row.session for row in reversed(l1s)))[:session_count]
        new = [row for row in new if row.session in latest]
    return _Sources(
        l1_count=space.l1_count,
        newest=tx.one_or_none(SQL.newest_map, space_id=space.id),
        agents=agents.text if agents else None,
        new=new,
        any_l1=bool(l1s) and session_count != 0,
    )


def map_budget(l1s: Sequence[Row]) -> int:
    """Return the number of characters for the lines that summarise these L1s."""
    return max(int(MAP_SHARE * sum(len(row.text) for row in l1s)), MAP_CHARACTERS_LEAST)


def headlines_of(l1s: Sequence[Row], budget: int) -> list[str]:
    """Return headlines of these L1s, one line each with date and id, oldest first."""
    sentences: dict[int, list[str]] = {}
    for headline in headlines([row.text for row in l1s], budget, LINE_CHARACTERS):
        sentences.setdefault(headline.text, []).append(headline.sentence)
    return [line_of(" ".join(texts), [l1s[number]]) for number, texts in sentences.items()]


def line_of(text: str, l1s: Sequence[Row]) -> str:
    """Return a line of a map: the day of the newest of these L1s, the text, and their ids."""
    day = rfc3339(max(row.created_ms for row in l1s))[:10]
    return f"- {day} {text} ({', '.join(row.l1_id for row in l1s)})"
