"""Import an export: check it whole, then store its records in batches.

Each batch is one transaction that looks up again what the target has. An interrupted import can
therefore be run again, and running one twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from ...accounts import require_write
from ...context import Caller, Context
from ...search import EntryMaker, entry_maker
from . import restored_layers as layers
from . import restored_rest as rest
from . import restored_turns as turns
from .archive import Archive
from .check import ExportCheck
from .record_index import RecordIndex
from .records import MEMBERS
from .restored_turns import Outcome
from .source import BATCH, ExportSource

Advance = Callable[[int], object]  # called with the number of records of each step
Progress = Callable[[str, int], AbstractContextManager[Advance]]  # name of the phase, records


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """Numbers of records."""

    stored: int
    present: int  # the target had them
    left: int  # the target has another one, which stays
    without_cube: int  # votes on cubes that the target does not have


def no_progress(_phase: str, _records: int) -> AbstractContextManager[Callable[[int], None]]:
    """Report no progress."""
    return nullcontext(lambda _: None)


def restore(
    context: Context,
    caller: Caller,
    path: Path,
    *,
    user_id: str | None = None,
    progress: Progress = no_progress,
    processors: int = 1,
) -> RestoreResult:
    """Store the records of an export in the caller's account, under their identifiers.

    `user_id` takes the place of the export's only user; many turns are analysed in
    several processes if there are several `processors`. Raises ImportRefused before anything is
    stored, KeyIsReadOnly, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    with Archive(path) as archive, RecordIndex() as index:
        count = sum(entry.records for entry in archive.manifest.members.values())
        check = ExportCheck(context, caller, _source(context, archive, user_id), index)
        with progress("checking", count) as advance:
            check.run(advance)
        source = _source(context, archive, user_id)
        texts = archive.manifest.members["events.jsonl"].records
        with (
            entry_maker(context.writer, texts, processors) as maker,
            progress("importing", count) as advance,
        ):
            outcome = _store(context, caller, source, check, maker, advance)
    return RestoreResult(
        stored=outcome["stored"],
        present=outcome["present"],
        left=outcome["left"],
        without_cube=outcome[rest.NO_CUBE],
    )


def _source(context: Context, archive: Archive, user_id: str | None) -> ExportSource:
    return ExportSource(archive=archive, settings=context.settings, user_id=user_id)


def _store(
    context: Context,
    caller: Caller,
    source: ExportSource,
    check: ExportCheck,
    maker: EntryMaker,
    advance: Advance,
) -> Outcome:
    """Store all members in their order, each after those that its records refer to."""
    aliases: layers.Aliases = {}
    of = partial(partial, partial, context=context, caller=caller)
    # each takes some records and returns a function that stores them; that of turns begins to
    # analyse them
    begin: dict[str, Callable[..., Callable[[], Outcome]]] = {
        "users.jsonl": of(turns.write_users),
        "sessions.jsonl": of(turns.write_sessions),
        "events.jsonl": partial(turns.begin_events, context, caller, maker),
        "origins.jsonl": of(turns.write_origins),
        "facts.jsonl": of(layers.write_facts, aliases=aliases),
        "summaries.jsonl": of(layers.write_summaries),
        "maps.jsonl": of(layers.write_maps, left_users=check.left_maps),
        "prompts.jsonl": of(rest.write_prompts),
        "memory_files.jsonl": of(rest.write_memory_files, left_files=check.left_files),
        "cubes.jsonl": of(rest.write_cubes),
        "votes.jsonl": of(rest.write_votes),
        "files.jsonl": of(rest.write_files, archive=source.archive),
    }
    outcome = Outcome()
    for name in MEMBERS:
        steps = (
            (len(batch), begin[name](records=[one.record for one in batch]))
            for batch in source.batches(name)
        )
        for count, end in maker.in_order(steps):
            outcome += end()
            advance(count)
        if name == "events.jsonl":
            for links in _batches(check.index.links("event_id")):
                turns.link_events(context, caller, links)
            for sessions in source.batches("sessions.jsonl"):
                turns.recount_sessions(context, caller, [one.record for one in sessions])
        elif name == "facts.jsonl":
            for links in _batches(check.index.links("fact_id")):
                layers.link_facts(context, caller, aliases, links)
        elif name == "maps.jsonl":
            for users in source.batches("users.jsonl"):
                layers.note_maps(context, caller, check.left_maps, [one.record for one in users])
    return outcome


def _batches(links: Iterator[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    while batch := list(islice(links, BATCH)):
        yield batch
