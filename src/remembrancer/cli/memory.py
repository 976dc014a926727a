"""The work of `remembrancer import`, with progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..accounts import caller_for
from ..client.turns import batches
from ..context import Context
from ..memory.exchange.archive import is_export
from ..memory.exchange.importer import ImportResult, read, store
from ..memory.exchange.shapes.documents import Source
from ..memory.exchange.shapes.records import ImportRefused, InvalidRecord, LeftOutRecord, one_line
from ..memory.exchange.survey import Survey, check
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

USERS_NAMED_MAX = 10  # users that a report names
SHOWN_MAX = 20  # records left out, and invalid ones, that a report for people lists
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


def _is_export(path: Path, options: ImportOptions) -> bool:
    """Return True for an export of this service. Raises InvalidRequest if it is to be reported."""
    if not is_export(path):
        return False
    if options.report is not None:
        raise InvalidRequest(
            "--report goes with data of other products: nothing of an export is left out."
        )
    return True


def import_into(
    context: Context, path: Path, *, account: str | None = None, options: ImportOptions = NO_OPTIONS
) -> ExchangeReport:
    """Import a file, archive or folder and report it.

    Raises ImportRefused, AccountUnknown, InvalidRequest, Interrupted.
    """
    _check_user(options.user_id)
    caller = caller_for(context, account)
    with interruptible(STOPPED):
        if _is_export(path, options):
            return restore_from(context, caller, path, user_id=options.user_id)
        with _checking(options) as chosen:
            source = read(caller, path, **chosen)
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
        if _is_export(path, options):
            raise ImportRefused(
                f"{path}: an export has more than turns and facts. Import it on the machine of the "
                "service, or as an owner on the page /console/import."
            )
        with _checking(options) as chosen:
            checked = check(path, **chosen)
        result = ImportResult(stored=0, duplicates=0)
        with progress("importing", len(checked)) as advance:
            for batch in batches(checked):
                turns = [one for one in batch if isinstance(one, ImportTurn)]
                facts = [one for one in batch if isinstance(one, ImportFact)]
                answer = client.import_records(RecordImport(turns=turns, facts=facts))
                result = ImportResult(
                    stored=result.stored + answer.stored,
                    duplicates=result.duplicates + answer.present,
                    facts=result.facts + answer.facts,
                )
                advance(len(batch))
    return _report(result, checked.survey, {"service": address})


def _report(result: ImportResult, summary: Survey, where: dict[str, str]) -> ExchangeReport:
    """Return the report of an import; `where` has the account or the service."""
    facts = f" (facts: {result.facts:,})" if result.facts else ""
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
        if _is_export(path, options):
            return inspect_export(path, user_id=options.user_id), True
        with _checking(replace(options, skip_invalid=True)) as chosen:
            summary = check(path, **chosen).survey
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
        "left_out": dict(summary.reasons),
        "left_out_records": [one_line(one) for one in summary.left_out],
        "invalid": summary.invalid,
        "errors": [one_line(one) for one in summary.errors],
    }


@contextmanager
def _checking(options: ImportOptions) -> Iterator[dict[str, Any]]:
    """Yield the options of `check`, which show its progress and write the file of `--report`."""
    with activity("checking") as show, _report_file(options.report) as left_out:

        def describe(summary: Survey, source: Source) -> str:
            records = summary.turns + summary.facts
            return f"{records:,} records, {source.bytes_read / 1e6:,.1f} MB"

        yield {
            "user_id": options.user_id,
            "shape": options.shape,
            "skip_invalid": options.skip_invalid,
            "left_out": left_out,
            "progress": lambda summary, source: show(lambda: describe(summary, source)),
        }


@contextmanager
def _report_file(path: Path | None) -> Iterator[Callable[[LeftOutRecord], object]]:
    """Yield what writes a line for each record left out, or does nothing. Raises InvalidRequest."""
    if path is None:
        yield lambda _: None
        return
    try:
        file = path.open("x", encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"--report {path}: {error.strerror}") from error

    def write(one: LeftOutRecord) -> None:
        document = {**asdict(one), "invalid": isinstance(one, InvalidRecord)}
        print(json.dumps(document, ensure_ascii=False), file=file)

    with file:
        yield write


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
    if not summary.reasons:
        return []
    reasons = [f"{reason} {count:,}" for reason, count in sorted(summary.reasons.items())]
    line = f"  left out  {summary.reasons.total():,}: {', '.join(reasons)}"
    return [line, *_listed(summary.left_out, summary.reasons.total())]


def _invalid(summary: Survey) -> list[str]:
    if not summary.invalid:
        return []
    return [f"  invalid   {summary.invalid:,}", *_listed(summary.errors, summary.invalid)]


def _listed(records: Sequence[LeftOutRecord], count: int) -> list[str]:
    lines = [f"    {one_line(record)}" for record in records[:SHOWN_MAX]]
    more = count - len(lines)
    return [*lines, f"    ... and {more:,} more: --report FILE lists all"] if more else lines


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
