"""Run a program, store its files, and optionally store the run as a searchable event."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import PurePosixPath

from ...accounts import may_use_outside_models, require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, stored_answer, write_once
from ...context import Caller, Context
from ...files.files import AccountFull, FileOwner, charge_quota, quota_left, stored_file
from ...protocol import limits
from ...protocol.execution import Executed, Execution, FileLeftOut, ProgramFile
from ...protocol.service_keys import WARNING, mask_service_keys
from ...protocol.sources import TurnSource
from ...repair.models.job import ModelPanel
from ...repair.programs import run_program
from ...sandbox.port import ProgramSandbox
from ...search import EventText
from ...store import Transaction
from .turns import IncomingTurn, store_turn_idempotently

_TOPIC = "program run"
# Control characters that would affect a terminal, or that a text must not contain.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_QUOTA_EXCEEDED = "the files of this account have reached their quota"


def execute(
    context: Context,
    sandbox: ProgramSandbox,
    caller: Caller,
    request: Execution,
    idempotency: IdempotentRequest | None = None,
    *,
    as_is: bool = False,
) -> Executed:
    """Run a program to its end and return the result.

    On return its files are durable, and with a `session_id` the run is searchable. `as_is` disables
    repairs and optimizations. Raises KeyIsReadOnly, PinnedToOtherUser, IdempotencyKeyReused,
    SandboxBusy, SandboxUnavailable, RunCancelled, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    space_user_id(caller, request.user_id)
    if (answer := stored_answer(context, idempotency)) is not None:
        return Executed.model_validate_json(answer)
    panel = ModelPanel(
        models=context.models,
        settings=context.settings,
        outside=may_use_outside_models(context, caller),
    )
    executed, files = run_program(sandbox, request, panel, as_is=as_is)
    executed = _without_keys(executed)
    if not files and request.session_id is None and idempotency is None:
        return executed
    write = partial(_write, context, caller, request, idempotency)
    try:
        return write(*_within_quota(context, caller, executed, files))
    except AccountFull:  # a concurrent write used up the quota; keep the result without files
        left_out = [FileLeftOut(name=name, why=_QUOTA_EXCEEDED) for name, _ in files]
        return write(_without_files(executed, left_out), [])


def _without_keys(executed: Executed) -> Executed:
    """Return the result with the keys of this service masked, and with a note if there were any."""
    text = executed.model_dump_json()
    masked = mask_service_keys(text)
    if masked == text:
        return executed
    note = " ".join(filter(None, (executed.note, WARNING)))
    return Executed.model_validate_json(masked).model_copy(update={"note": note})


def _without_files(executed: Executed, left_out: list[FileLeftOut]) -> Executed:
    """Return the result with the names of files that are not stored."""
    return executed.model_copy(update={"files_left_out": executed.files_left_out + left_out})


def _within_quota(
    context: Context, caller: Caller, executed: Executed, files: Sequence[tuple[str, bytes]]
) -> tuple[Executed, list[tuple[str, bytes]]]:
    """Split the files into those that can be stored and those named as left out."""
    quota = quota_left(context, caller.account_id) if files else 0
    max_bytes = context.settings.file_bytes_max
    fitting: list[tuple[str, bytes]] = []
    left_out: list[FileLeftOut] = []
    for name, content in files:
        if len(content) > max_bytes:
            left_out.append(
                FileLeftOut(name=name, why=f"a file can have at most {max_bytes} bytes")
            )
        elif charge_quota(len(content)) > quota:
            left_out.append(FileLeftOut(name=name, why=_QUOTA_EXCEEDED))
        else:
            quota -= charge_quota(len(content))
            fitting.append((name, content))
    return _without_files(executed, left_out), fitting


def _write(
    context: Context,
    caller: Caller,
    request: Execution,
    idempotency: IdempotentRequest | None,
    executed: Executed,
    files: Sequence[tuple[str, bytes]],
) -> Executed:
    """Store the files, the event if a session is named, and the answer: all or nothing."""
    named = [(name, PurePosixPath(name).suffix, content) for name, content in files]
    with stored_file(context, FileOwner.of(caller, "program"), named) as stored_files:

        def answer(tx: Transaction, event_id: str | None) -> Executed:
            program_files = [
                ProgramFile(name=name, **file.add(tx).model_dump())
                for (name, _), file in zip(files, stored_files, strict=True)
            ]
            return executed.model_copy(update={"files": program_files, "event_id": event_id})

        if request.session_id is None:
            return write_once(
                context, caller.account_id, idempotency, Executed, lambda tx: answer(tx, None)
            )
        names = [
            f"{name} ({file.filename})" for (name, _), file in zip(files, stored_files, strict=True)
        ]
        turn = IncomingTurn(
            user_id=request.user_id,
            session_id=request.session_id,
            text=EventText(
                query=request.code,
                response=run_text(executed, names),
                topic=_TOPIC,
                occurred_ms=context.clock(),
            ),
            source=TurnSource(query="model", response="tool"),
        )
        return store_turn_idempotently(
            context,
            caller,
            turn,
            idempotency,
            Executed,
            lambda tx, stored, _: answer(tx, stored.event_id),
        )


def run_text(executed: Executed, files: Sequence[str]) -> str:
    """Return the result of a run as the text of an event, without control characters.

    Long output is cut with a note. `files` are the names of its files, as the program and as the
    account call them.
    """
    parts = [f"The program ended: {executed.status}."]
    for name, text in (
        ("changed", executed.diff or ""),
        ("stdout", executed.stdout),
        ("stderr", executed.stderr),
        ("result", executed.result or ""),
    ):
        if text.strip():
            parts.append(f"{name}:\n{_printable(text)}")
    if executed.error:
        line = f" (line {executed.error.line})" if executed.error.line else ""
        parts.append(f"error: {executed.error.type}{line}: {_printable(executed.error.message)}")
    if files:
        parts.append("files: " + ", ".join(files))
    return "\n\n".join(parts)


def _printable(text: str) -> str:
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
    omitted = len(text) - limits.RUN_TEXT_CHARACTERS_MAX
    if omitted <= 0:
        return text
    return f"{text[: limits.RUN_TEXT_CHARACTERS_MAX]}\n({omitted} more characters)"
