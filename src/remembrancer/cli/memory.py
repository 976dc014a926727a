"""The work of `remembrancer import`, with progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..accounts import caller_for
from ..context import Context
from ..memory.exchange.archive import is_export
from ..memory.exchange.importer import read, store
from ..memory.exchange.shapes import ShapeFact, ShapeTurn, Source, one_line
from ..memory.exchange.survey import LISTED_MAX, USERS_NAMED_MAX, Survey, open_import, survey
from ..protocol import limits
from ..protocol.errors import InvalidRequest
from ..protocol.text import beginning
from ..search import entry_maker
from ..settings import processors
from .commands import NO_OPTIONS, ImportOptions
from .exchange import ExchangeReport, inspect_export, restore_from
from .progress import activity, progress

RECORD_CHARACTERS = 90  # of each side of a record that `--dry-run` prints


class ImportStopped(Exception):
    """Interrupted. The stored records remain. Run the same command again to continue."""


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

    Raises ImportRefused, AccountUnknown, InvalidRequest, ImportStopped.
    """
    _check_user(options.user_id)
    caller = caller_for(context, account)
    try:
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
    except KeyboardInterrupt as error:
        raise ImportStopped from error
    facts = f" ({result.facts:,} facts)" if result.facts else ""
    repeated = f", {result.repeated:,} repeated in the file" if result.repeated else ""
    summary = (
        f"{result.stored:,} stored{facts}, {result.duplicates - result.repeated:,} already present"
        f"{repeated} (account {caller.account_name})"
    )
    text = "\n".join([summary, *_left_out(source.survey), *_invalid(source.survey)])
    document = {"account": caller.account_name, **asdict(result), **_rest(source.survey)}
    return ExchangeReport(text, document)


def inspect_import(
    path: Path, options: ImportOptions, *, with_records: bool
) -> tuple[ExchangeReport, bool]:
    """Report what an import of a path would store, and whether all of it is valid.

    Writes nothing and opens no store. `with_records` adds the first records. Raises ImportRefused
    for a path that has no known shape, ImportStopped.
    """
    _check_user(options.user_id)
    try:
        if is_export(path):
            return inspect_export(path, user_id=options.user_id), True
        source, shape = open_import(path, options.shape)
        with _checking() as report:
            summary = survey(
                source,
                shape,
                space=lambda own: options.user_id if options.user_id is not None else own,
                skip_invalid=True,
                progress=report,
            )
    except KeyboardInterrupt as error:
        raise ImportStopped from error
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


def _record_line(record: ShapeTurn | ShapeFact, user_id: str | None) -> str:
    """Return a turn or a fact on one line, as JSON without absent members."""
    user_id = record.user_id if user_id is None else user_id
    if isinstance(record, ShapeTurn):
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
