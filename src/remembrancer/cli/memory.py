"""The work of `remembrancer import`, with progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..accounts import caller_for
from ..context import Context
from ..memory.exchange.archive import is_export
from ..memory.exchange.importer import ImportRefused, ImportResult, read, store
from ..memory.exchange.shapes import Record, Shape, Source, one_line
from ..memory.exchange.survey import (
    LISTED_MAX,
    USERS_NAMED_MAX,
    Survey,
    imported_records,
    open_import,
    survey,
)
from ..protocol import limits
from ..protocol.errors import InvalidRequest
from ..protocol.imports import ImportFact, ImportTurn, RecordImport
from ..protocol.text import beginning
from ..search import entry_maker
from ..settings import processors
from .commands import NO_OPTIONS, ImportOptions
from .exchange import ExchangeReport, inspect_export, restore_from
from .progress import activity, interruptible, progress

if TYPE_CHECKING:
    from ..client import Client

REQUEST_BYTES_MAX = limits.BODY_BYTES_MAX // 2  # of a request with several records
RECORD_CHARACTERS = 90  # of each side of a record that `--dry-run` prints
STOPPED = "The stored records remain. Run the same command again to continue."


def _check_user(user_id: str | None) -> None:
    """Raise InvalidRequest for a user that is no readable name."""
    if user_id is not None and (
        not 1 <= len(user_id) <= limits.ID_CHARACTERS_MAX or not user_id.isprintable()
    ):
        raise InvalidRequest(
            f"--user-id must be one line of 1 to {limits.ID_CHARACTERS_MAX} characters"
        )


def import_into(
    context: Context, path: Path, *, account: str | None = None, options: ImportOptions = NO_OPTIONS
) -> ExchangeReport:
    """Import a file, archive or folder and report it.

    Raises ImportRefused, AccountUnknown, InvalidRequest, Interrupted.
    """
    _check_user(options.user_id)
    caller = caller_for(context, account)
    with interruptible(STOPPED):
        if is_export(path):
            return restore_from(context, caller, path, user_id=options.user_id)
        with _checking() as report:
            source = read(
                context,
                caller,
                path,
                user_id=options.user_id,
                shape=options.shape,
                skip_invalid=options.skip_invalid,
                progress=report,
            )
        with (
            entry_maker(context.writer, len(source), processors()) as maker,
            progress("importing", len(source)) as advance,
        ):
            result = store(context, caller, source, progress=advance, maker=maker)
    return _report(result, source.survey, {"account": caller.account_name})


def import_through(
    client: Client, address: str, path: Path, options: ImportOptions
) -> ExchangeReport:
    """Import a file, archive or folder into a running service and report it.

    It is read and checked here, and its records are sent. Raises ImportRefused, InvalidRequest,
    ClientError, Interrupted.
    """
    _check_user(options.user_id)
    with interruptible(STOPPED):
        if is_export(path):
            raise ImportRefused(
                f"{path}: an export has more than turns and facts. Import it on the machine of the "
                "service, or as an owner on the page /console/import."
            )
        source, shape = open_import(path, options.shape)
        summary = _surveyed(source, shape, options, skip_invalid=options.skip_invalid)
        result = ImportResult(stored=0, duplicates=0)
        with progress("importing", summary.turns + summary.facts) as advance:
            records = imported_records(source, shape, skip_invalid=options.skip_invalid)
            for request in _requests(records, options.user_id):
                answer = client.import_records(request)
                result = ImportResult(
                    stored=result.stored + answer.stored,
                    duplicates=result.duplicates + answer.present,
                    facts=result.facts + answer.facts,
                )
                advance(request.size)
    return _report(result, summary, {"service": address})


def _surveyed(
    source: Source, shape: Shape, options: ImportOptions, *, skip_invalid: bool
) -> Survey:
    """Return what is in a source, read to its end while the progress is shown."""
    with _checking() as report:
        return survey(
            source,
            shape,
            space=lambda own: options.user_id if options.user_id is not None else own,
            skip_invalid=skip_invalid,
            progress=report,
        )


def _requests(records: Iterable[Record], user_id: str | None) -> Iterator[RecordImport]:
    """Yield turns and facts in requests of a bounded size."""
    named = {} if user_id is None else {"user_id": user_id}
    turns: list[ImportTurn] = []
    facts: list[ImportFact] = []
    size = 0
    for record in records:
        if not isinstance(record, ImportTurn | ImportFact):
            continue
        message = record.model_copy(update=named)
        own = len(message.model_dump_json(exclude_none=True).encode())
        if size and (
            size + own > REQUEST_BYTES_MAX or len(turns) + len(facts) == limits.BATCH_TURNS_MAX
        ):
            yield RecordImport(turns=turns, facts=facts)
            turns, facts, size = [], [], 0
        if isinstance(message, ImportTurn):
            turns.append(message)
        else:
            facts.append(message)
        size += own
    if size:
        yield RecordImport(turns=turns, facts=facts)


def _report(result: ImportResult, summary: Survey, where: dict[str, str]) -> ExchangeReport:
    """Return the report of an import; `where` has the account or the service."""
    facts = f" ({result.facts:,} facts)" if result.facts else ""
    repeated = f", {result.repeated:,} repeated in the file" if result.repeated else ""
    [(kind, name)] = where.items()
    counts = (
        f"{result.stored:,} stored{facts}, {result.duplicates - result.repeated:,} already present"
        f"{repeated} ({kind} {name})"
    )
    text = "\n".join([counts, *_left_out(summary), *_invalid(summary)])
    return ExchangeReport(text, {**where, **asdict(result), **_rest(summary)})


def inspect_import(
    path: Path, options: ImportOptions, *, with_records: bool
) -> tuple[ExchangeReport, bool]:
    """Report what an import of a path would store, and whether all of it is valid.

    Writes nothing and opens no store. `with_records` adds the first records. Raises ImportRefused
    for a path that has no known shape, Interrupted.
    """
    _check_user(options.user_id)
    with interruptible(STOPPED):
        if is_export(path):
            return inspect_export(path, user_id=options.user_id), True
        source, shape = open_import(path, options.shape)
        summary = _surveyed(source, shape, options, skip_invalid=True)
    lines = [f"{summary.shape}: {summary.title}", *_counts(summary), *_left_out(summary)]
    if with_records:
        lines += [_record_line(record, options.user_id) for record in summary.first]
    document = {
        "shape": summary.shape,
        "users": list(summary.users),
        "sessions": len(summary.sessions),
        "turns": summary.turns,
        "facts": summary.facts,
        **_rest(summary),
    }
    return ExchangeReport("\n".join([*lines, *_invalid(summary)]), document), not summary.invalid


def _rest(summary: Survey) -> dict[str, Any]:
    """Return what an import leaves out, for programs."""
    return {
        "left_out": dict(summary.left_out),
        "invalid": summary.invalid,
        "errors": [one_line(error) for error in summary.errors],
    }


@contextmanager
def _checking() -> Iterator[Callable[[Survey, Source], None]]:
    with activity("checking") as report:

        def describe(summary: Survey, source: Source) -> str:
            records = summary.turns + summary.facts
            return f"{records:,} records, {source.bytes_read / 1e6:,.1f} MB"

        yield lambda summary, source: report(lambda: describe(summary, source))


def _counts(summary: Survey) -> list[str]:
    names = [
        "the account's own" if user is None else one_line(user, 60)
        for user in list(summary.users)[:USERS_NAMED_MAX]
    ]
    more = len(summary.users) - len(names)
    names += [f"and {more:,} more"] if more > 0 else []
    return [
        f"  users     {len(summary.users):,}{': ' if names else ''}{', '.join(names)}",
        f"  sessions  {len(summary.sessions):,}",
        f"  turns     {summary.turns:,}",
        f"  facts     {summary.facts:,}",
    ]


def _left_out(summary: Survey) -> list[str]:
    if not summary.left_out:
        return []
    reasons = [f"{reason} {count:,}" for reason, count in sorted(summary.left_out.items())]
    return [f"  left out  {summary.left_out.total():,}: {', '.join(reasons)}"]


def _invalid(summary: Survey) -> list[str]:
    if not summary.invalid:
        return []
    lines = [f"  invalid   {summary.invalid:,}"]
    lines += [f"    {one_line(error)}" for error in summary.errors]
    if summary.invalid > LISTED_MAX:
        lines.append(f"    ... and {summary.invalid - LISTED_MAX:,} more")
    return lines


def _record_line(record: ImportTurn | ImportFact, user_id: str | None) -> str:
    """Return a turn or a fact on one line, as JSON without absent members."""
    user_id = record.user_id if user_id is None else user_id
    if isinstance(record, ImportTurn):
        members = {
            "user_id": user_id,
            "session_id": record.session_id,
            "topic": record.topic,
            "occurred_at": record.occurred_at and record.occurred_at.isoformat(),
            "query": beginning(record.query, RECORD_CHARACTERS),
            "response": beginning(record.response, RECORD_CHARACTERS),
        }
    else:
        members = {
            "user_id": user_id,
            "fact": beginning(record.text, RECORD_CHARACTERS),
            "valid_from": record.valid_from and record.valid_from.isoformat(),
            "valid_to": record.valid_to and record.valid_to.isoformat(),
        }
    line = json.dumps({name: value for name, value in members.items() if value}, ensure_ascii=False)
    return "  " + "".join(c if c.isprintable() else "\ufffd" for c in line)
