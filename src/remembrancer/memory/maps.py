"""L2: the map of a user over the L1s, in versions that all stay. The agent writes it, or it is made of headlines."""

from __future__ import annotations

from collections.abc import Sequence

from ..accounts import may_write, space_user_id
from ..accounts.once import Once, once
from ..context import Caller, Context
from ..protocol.errors import NotFound
from ..protocol.summaries import MapQuery, MapRequest, MapUpdated, MapVersion
from ..protocol.text import rfc3339
from ..store import Row, Transaction
from .headlines import headlines
from .spaces import SQL as SPACES
from .summaries import SQL

AGENT, HEADLINES = "agent", "headlines"  # who made a map
MAP_SHARE = 0.05  # specification, Limits: L2 length is about 5% of the L1 text
MAP_CHARACTERS_LEAST = 1_200  # a map of few L1s may be as long: 5 % of them says nothing


class MapUnknown(NotFound):
    """There is no such version of this map. `versions` of GET /api/v7/memory/map says how many there are."""


def update_map(context: Context, caller: Caller, asked: MapRequest, given: Once | None = None) -> MapUpdated:
    """Make the map anew: what the agent wrote last, then headlines of the L1s that it does not know.

    Raises Forbidden, Conflict as `once`, StoreUnavailable.
    """
    may_write(caller)
    user_id = space_user_id(caller, asked.user_id)

    def make(tx: Transaction) -> str:
        space = tx.one(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
        if space is None or not space.l1_count:
            return MapUpdated(updated=False, map_text="", l1_count=0, version=0).model_dump_json()
        before = tx.one(SQL.newest_map, space_id=space.id)
        text = _made(tx, space.id, asked.session_count)
        version = keep_map(context, tx, space_id=space.id, text=text, made_by=HEADLINES)
        updated = before is None or version != before.version
        return MapUpdated(updated=updated, map_text=text, l1_count=space.l1_count, version=version).model_dump_json()

    return MapUpdated.model_validate_json(context.store.write(lambda tx: once(tx, given, context.clock(), lambda: make(tx))))


def keep_map(context: Context, tx: Transaction, *, space_id: int, text: str, made_by: str) -> int:
    """Keep a map as the newest version and give its number; one that says the same as the newest is that version."""
    newest = tx.one(SQL.newest_map, space_id=space_id)
    version = 1 if newest is None else newest.version
    if newest is not None and newest.text != text:
        version += 1
    if newest is None or newest.text != text:
        tx.run(SQL.add_map, space_id=space_id, version=version, text=text, made_by=made_by, now_ms=context.clock())
    tx.run(SQL.note_map, space_id=space_id)
    return int(version)


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


def _made(tx: Transaction, space_id: int, session_count: int | None) -> str:
    """The agent's newest map, then headlines of the L1s made since."""
    agents = tx.one(SQL.agents_map, space_id=space_id)
    l1s = tx.all(SQL.l1s, space_id=space_id)[agents.l1_count if agents else 0 :]
    if session_count is not None:
        latest = list(dict.fromkeys(row.session for row in reversed(l1s)))[:session_count]
        l1s = [row for row in l1s if row.session in latest]
    return "\n".join([*([agents.text.rstrip()] if agents else []), *_lines(l1s)])


def _lines(l1s: Sequence[Row]) -> list[str]:
    """Headlines of these L1s, one a line, each with its date and its L1, oldest first."""
    room = max(int(MAP_SHARE * sum(len(row.text) for row in l1s)), MAP_CHARACTERS_LEAST)
    return [
        f"- {rfc3339(l1s[one.text].created_ms)[:10]} {one.sentence} ({l1s[one.text].l1_id})"
        for one in headlines([r.text for r in l1s], room)
    ]
