"""L2: the map of a user over the L1s, in versions that all stay.

The agent writes it, or it is made of headlines, or by a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...context import Caller, Context
from ...protocol.errors import NotFound
from ...protocol.summaries import MadeBy, MapQuery, MapRequest, MapUpdated, MapVersion
from ...protocol.text import rfc3339
from ...store import Row, Transaction
from ..duties import is_l2_due
from ..spaces import SQL as SPACES
from .extractive import headlines
from .l1 import SQL

AGENT = "agent"  # who made a map
HEADLINES: MadeBy = "headlines"
MODEL: MadeBy = "model"
MAP_SHARE = 0.05  # specification, Limits: L2 length is about 5% of the L1 text
MAP_CHARACTERS_LEAST = 1_200  # a map of few L1s may be as long: 5 % of them says nothing
VERSIONS_LISTED_MAX = 50
LINE_CHARACTERS = 34  # what a line has besides its headlines: the date and the id


class MapUnknown(NotFound):
    """There is no such version of this map. `versions` of GET /api/v7/memory/map says how many
    there are.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLines:
    """Lines that tell of L1s, who wrote them, and what the answer says of that."""

    lines: Sequence[str]
    made_by: MadeBy
    beside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """What a map is made of:

    the agent's own, the L1s that it does not know. `newest` is the map that there is.
    """

    l1_count: int = 0
    newest: Row | None = None
    agents: str | None = None
    new: Sequence[Row] = ()
    any_l1: bool = False


Tell = Callable[[Sequence[Row]], MapLines]


def extractive_map(l1s: Sequence[Row]) -> MapLines:
    """Headlines of these L1s, one line an L1."""
    return MapLines(lines=headlines_of(l1s, map_budget(l1s)), made_by=HEADLINES)


def update_map(
    context: Context,
    caller: Caller,
    asked: MapRequest,
    given: IdempotentRequest | None = None,
    tell: Tell | None = None,
) -> MapUpdated:
    """Make the map anew: what the agent wrote last, then what `tell` says of the L1s that it does
    not know, or their headlines.

    A map by a model that knows them all stays: models say the same in other words each time. Raises
    Forbidden, Conflict as `once`, StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, asked.user_id)
    answer = None
    while answer is None:  # made anew only when an L1 or a map came in between
        # Telling of many L1s takes a while, and the write lock is not ours to hold.
        sources = context.store.read(
            lambda tx: _sources(tx, caller.account_id, user_id, asked.session_count),
            account_id=caller.account_id,
        )
        told = None
        if sources.any_l1 and not (tell and _is_known(sources, asked)):
            told = (tell or extractive_map)(sources.new)
        answer = context.store.write(
            partial(_keep_made, context, caller.account_id, user_id, sources, told, given),
            account_id=caller.account_id,
        )
    return MapUpdated.model_validate_json(answer)


def _is_known(sources: _Sources, asked: MapRequest) -> bool:
    newest = sources.newest
    return (
        asked.session_count is None
        and newest is not None
        and newest.made_by == MODEL
        and newest.l1_count == sources.l1_count
    )


def _keep_made(
    context: Context,
    account_id: int,
    user_id: str,
    sources: _Sources,
    told: MapLines | None,
    given: IdempotentRequest | None,
    tx: Transaction,
) -> str | None:
    """The answer; None when what was read is out of date."""
    space = tx.one_or_none(SPACES.space_of, account_id=account_id, user_id=user_id)
    newest = tx.one_or_none(SQL.newest_map, space_id=space.id) if space else None
    if (space.l1_count if space else 0, newest) != (sources.l1_count, sources.newest):
        return None
    lines = [*([sources.agents] if sources.agents is not None else []), *told.lines] if told else []

    def keep() -> str:
        text, version = (newest.text, newest.version) if newest else ("", 0)
        if space is not None and told is not None and lines:
            text = "\n".join(lines)
            version = store_map(context, tx, space_id=space.id, text=text, made_by=told.made_by)
        updated = version != (newest.version if newest else 0)
        beside = told.beside if told else {}
        return MapUpdated(
            updated=updated, map_text=text, l1_count=sources.l1_count, version=version, **beside
        ).model_dump_json()

    return idempotent(tx, given, context.clock(), keep)


def store_map(context: Context, tx: Transaction, *, space_id: int, text: str, made_by: str) -> int:
    """Keep a map as the newest version and give its number; one that says the same as the newest is
    that version.

    It is taken to know every L1 there is. White space at its ends does not count.
    """
    newest = tx.one_or_none(SQL.newest_map, space_id=space_id)
    version = newest.version if newest else 0
    if newest is None or newest.text != text.strip():
        version += 1
        tx.run(
            SQL.add_map,
            space_id=space_id,
            version=version,
            text=text.strip(),
            made_by=made_by,
            now_ms=context.clock(),
        )
    tx.run(SQL.note_map, space_id=space_id)
    return int(version)


def newest_version(tx: Transaction, space_id: int) -> int:
    """The number of the newest map of a space, 0 while there is none."""
    newest = tx.one_or_none(SQL.newest_map, space_id=space_id)
    return int(newest.version) if newest else 0


def map_version(context: Context, caller: Caller, asked: MapQuery) -> MapVersion:
    """One version of the map, the newest when none is named.

    Raises MapUnknown, Forbidden, StoreUnavailable.
    """
    user_id = space_user_id(caller, asked.user_id)

    def read(tx: Transaction) -> MapVersion:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
        newest = tx.one_or_none(SQL.newest_map, space_id=space.id) if space else None
        if space is None or newest is None:
            raise MapUnknown
        row = (
            newest
            if asked.version is None
            else tx.one_or_none(SQL.map_of_version, space_id=space.id, version=asked.version)
        )
        if row is None:
            raise MapUnknown
        return MapVersion(
            map_text=row.text,
            version=row.version,
            versions=newest.version,
            l1_count=row.l1_count,
            made_by=row.made_by,
            created_at=rfc3339(row.created_ms),
        )

    return context.store.read(read, account_id=caller.account_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapVersions:
    """The versions of a map, newest first, and how it stands.

    Each row: version, l1_count, made_by, created_ms, characters.
    """

    versions: list[Row]
    next: int | None  # where older ones begin
    l1_count: int = 0  # L1s of the memory
    l1_mapped: int = 0  # how many of them the newest map knows
    is_due: bool = False


def map_history(
    context: Context, caller: Caller, user_id: str, *, below: int | None = None
) -> MapVersions:
    """A page of the versions of a user's map; none where there is no map.

    `below` is the version that they come before. Raises Pinned.
    """
    asked = space_user_id(caller, user_id)

    def read(tx: Transaction) -> MapVersions:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=asked)
        if space is None:
            return MapVersions(versions=[], next=None)
        rows = tx.all(
            SQL.map_versions,
            space_id=space.id,
            below=below or 1 << 62,
            most=VERSIONS_LISTED_MAX + 1,
        )
        shown = rows[:VERSIONS_LISTED_MAX]
        stands = {
            "l1_count": space.l1_count,
            "l1_mapped": space.l1_mapped,
            "is_due": is_l2_due(space.l1_count, space.l1_mapped),
        }
        return MapVersions(
            versions=shown, next=shown[-1].version if len(rows) > len(shown) else None, **stands
        )

    return context.store.read(read, account_id=caller.account_id)


def _sources(tx: Transaction, account_id: int, user_id: str, session_count: int | None) -> _Sources:
    space = tx.one_or_none(SPACES.space_of, account_id=account_id, user_id=user_id)
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
    """How many characters the lines that tell of these L1s may have."""
    return max(int(MAP_SHARE * sum(len(row.text) for row in l1s)), MAP_CHARACTERS_LEAST)


def headlines_of(l1s: Sequence[Row], room: int) -> list[str]:
    """Headlines of these L1s, one line an L1 with its date and id, oldest first."""
    chosen: dict[int, list[str]] = {}
    for one in headlines([row.text for row in l1s], room, LINE_CHARACTERS):
        chosen.setdefault(one.text, []).append(one.sentence)
    return [line_of(" ".join(said), [l1s[at]]) for at, said in chosen.items()]


def line_of(said: str, l1s: Sequence[Row]) -> str:
    """A line of a map: the day of the newest of these L1s, what is said of them, and their ids."""
    return f"- {rfc3339(max(row.created_ms for row in l1s))[:10]} {said} ({', '.join(row.l1_id for row in l1s)})"
