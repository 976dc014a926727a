"""L2: the map of a user over the L1s, in versions that all stay. The agent writes it, or it is made of headlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..accounts import may_write, space_user_id
from ..accounts.once import Once, once
from ..context import Caller, Context
from ..protocol.errors import NotFound
from ..protocol.summaries import MapQuery, MapRequest, MapUpdated, MapVersion
from ..protocol.text import rfc3339
from ..store import Row, Transaction
from .headlines import headlines
from .rules import is_l2_due
from .spaces import SQL as SPACES
from .summaries import SQL

AGENT, HEADLINES = "agent", "headlines"  # who made a map
MAP_SHARE = 0.05  # specification, Limits: L2 length is about 5% of the L1 text
MAP_CHARACTERS_LEAST = 1_200  # a map of few L1s may be as long: 5 % of them says nothing
VERSIONS_LISTED_MAX = 50
LINE_CHARACTERS = 34  # what a line has besides its headlines: the date and the id


class MapUnknown(NotFound):
    """There is no such version of this map. `versions` of GET /api/v7/memory/map says how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A map that is not kept yet, and what it was made of. `text` None: there is nothing to make one of."""

    text: str | None
    l1_count: int
    newest: Row | None


def update_map(context: Context, caller: Caller, asked: MapRequest, given: Once | None = None) -> MapUpdated:
    """Make the map anew: what the agent wrote last, then headlines of the L1s that it does not know.

    Raises Forbidden, Conflict as `once`, StoreUnavailable.
    """
    may_write(caller)
    user_id = space_user_id(caller, asked.user_id)
    answer = None
    while answer is None:  # made anew only when an L1 or a map came in between
        # Choosing headlines of many L1s takes a while, and the write lock is not ours to hold.
        draft = context.store.read(lambda tx: _draft(tx, caller.account_id, user_id, asked.session_count))
        answer = context.store.write(partial(_keep_draft, context, caller.account_id, user_id, draft, given))
    return MapUpdated.model_validate_json(answer)


def _draft(tx: Transaction, account_id: int, user_id: str, session_count: int | None) -> _Draft:
    space = tx.one(SPACES.space_of, account_id=account_id, user_id=user_id)
    if space is None:
        return _Draft(text=None, l1_count=0, newest=None)
    newest = tx.one(SQL.newest_map, space_id=space.id)
    return _Draft(text=_made(tx, space.id, session_count), l1_count=space.l1_count, newest=newest)


def _keep_draft(context: Context, account_id: int, user_id: str, draft: _Draft, given: Once | None, tx: Transaction) -> str | None:
    """The answer; None when the draft is out of date."""
    space = tx.one(SPACES.space_of, account_id=account_id, user_id=user_id)
    newest = tx.one(SQL.newest_map, space_id=space.id) if space else None
    if (space.l1_count if space else 0, newest) != (draft.l1_count, draft.newest):
        return None

    def keep() -> str:
        text, version = (newest.text, newest.version) if newest else ("", 0)
        if space is not None and draft.text is not None:
            version = keep_map(context, tx, space_id=space.id, text=draft.text, made_by=HEADLINES)
            text = draft.text
        updated = version != (newest.version if newest else 0)
        return MapUpdated(updated=updated, map_text=text, l1_count=draft.l1_count, version=version).model_dump_json()

    return once(tx, given, context.clock(), keep)


def keep_map(context: Context, tx: Transaction, *, space_id: int, text: str, made_by: str) -> int:
    """Keep a map as the newest version and give its number; one that says the same as the newest is that version.

    It is taken to know every L1 there is. White space at its ends does not count.
    """
    newest = tx.one(SQL.newest_map, space_id=space_id)
    version = newest.version if newest else 0
    if newest is None or newest.text != text.strip():
        version += 1
        tx.run(SQL.add_map, space_id=space_id, version=version, text=text.strip(), made_by=made_by, now_ms=context.clock())
    tx.run(SQL.note_map, space_id=space_id)
    return int(version)


def newest_version(tx: Transaction, space_id: int) -> int:
    """The number of the newest map of a space, 0 while there is none."""
    newest = tx.one(SQL.newest_map, space_id=space_id)
    return int(newest.version) if newest else 0


def map_version(context: Context, caller: Caller, asked: MapQuery) -> MapVersion:
    """One version of the map, the newest when none is named. Raises MapUnknown, Forbidden, StoreUnavailable."""
    user_id = space_user_id(caller, asked.user_id)

    def read(tx: Transaction) -> MapVersion:
        space = tx.one(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
        newest = tx.one(SQL.newest_map, space_id=space.id) if space else None
        if space is None or newest is None:
            raise MapUnknown
        row = newest if asked.version is None else tx.one(SQL.map_of_version, space_id=space.id, version=asked.version)
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

    return context.store.read(read)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The versions of a map, newest first, and how it stands. Each row: version, l1_count, made_by, created_ms, characters."""

    versions: list[Row]
    next: int | None  # where older ones begin
    l1_count: int = 0  # L1s of the memory
    l1_mapped: int = 0  # how many of them the newest map knows
    is_due: bool = False


def map_history(context: Context, caller: Caller, user_id: str, *, below: int | None = None) -> History:
    """A page of the versions of a user's map; none where there is no map. `below` is the version that they come before. Raises Pinned."""
    asked = space_user_id(caller, user_id)

    def read(tx: Transaction) -> History:
        space = tx.one(SPACES.space_of, account_id=caller.account_id, user_id=asked)
        if space is None:
            return History(versions=[], next=None)
        rows = tx.all(SQL.map_versions, space_id=space.id, below=below or 1 << 62, most=VERSIONS_LISTED_MAX + 1)
        shown = rows[:VERSIONS_LISTED_MAX]
        stands = {"l1_count": space.l1_count, "l1_mapped": space.l1_mapped, "is_due": is_l2_due(space.l1_count, space.l1_mapped)}
        return History(versions=shown, next=shown[-1].version if len(rows) > len(shown) else None, **stands)

    return context.store.read(read)


def _made(tx: Transaction, space_id: int, session_count: int | None) -> str | None:
    """The agent's newest map, then headlines of the L1s made since; None where there is no L1 to tell of."""
    agents = tx.one(SQL.agents_map, space_id=space_id)
    l1s = tx.all(SQL.l1s, space_id=space_id)
    new = l1s[agents.l1_count if agents else 0 :]
    if not l1s or session_count == 0:
        return None
    if session_count is not None:
        latest = list(dict.fromkeys(row.session for row in reversed(l1s)))[:session_count]
        new = [row for row in new if row.session in latest]
    lines = [*([agents.text] if agents else []), *_lines(new)]
    return "\n".join(lines) if lines else None


def _lines(l1s: Sequence[Row]) -> list[str]:
    """Headlines of these L1s, one line an L1 with its date and id, oldest first."""
    room = max(int(MAP_SHARE * sum(len(row.text) for row in l1s)), MAP_CHARACTERS_LEAST)
    chosen: dict[int, list[str]] = {}
    for one in headlines([row.text for row in l1s], room, LINE_CHARACTERS):
        chosen.setdefault(one.text, []).append(one.sentence)
    return [f"- {rfc3339(l1s[at].created_ms)[:10]} {' '.join(said)} ({l1s[at].l1_id})" for at, said in chosen.items()]
