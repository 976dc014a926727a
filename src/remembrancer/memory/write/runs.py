"""Run a program, keep the files it left, and when a session is named, keep the run as an event that
can be found and cited.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from ...accounts import may_use_outside_models, require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent, stored_answer
from ...context import Caller, Context
from ...files.files import AccountFull, FileOwner, charge_quota, quota_left, stored_file
from ...protocol import limits
from ...protocol.execution import Executed, Execution, FileLeftOut, ProgramFile
from ...repair.models.budget import ModelPanel
from ...repair.programs import run_program
from ...sandbox.sandbox import Sandbox
from ...search import EventText
from ...store import Transaction
from .turns import EventPlace, store_turn_idempotently

_TOPIC = "program run"
# escapes that would steer a terminal, or that no text may hold
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_ROOM = "the files of this account take all the room they may"


def execute(
    context: Context,
    sandbox: Sandbox,
    caller: Caller,
    asked: Execution,
    given: IdempotentRequest | None = None,
    *,
    as_is: bool = False,
) -> Executed:
    """Run it, wait for its end, and say how it went; its files are durable by then, and when
    `session_id` is given the run is searchable.

    `as_is`: nothing is mended or improved.
    Raises ReadOnly, Pinned, Conflict as `once`, SandboxBusy, SandboxUnavailable,
    StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    space_user_id(caller, asked.user_id)
    if (first := stored_answer(context, given)) is not None:
        return Executed.model_validate_json(first)
    panel = ModelPanel(
        models=context.models,
        settings=context.settings,
        outside=may_use_outside_models(context, caller),
    )
    return _kept(context, caller, asked, *run_program(sandbox, asked, panel, as_is=as_is), given)


def _kept(
    context: Context,
    caller: Caller,
    asked: Execution,
    executed: Executed,
    files: Sequence[tuple[str, bytes]],
    given: IdempotentRequest | None,
) -> Executed:
    """Keep the files, the event when a session is named, and the answer for when it is asked for
    again: all or nothing.
    """
    if not files and asked.session_id is None and given is None:
        return executed
    try:
        return _written(context, caller, asked, *_fitting(context, caller, executed, files), given)
    except AccountFull:  # others of the account were faster; a run is worth more than its files
        left_out = [FileLeftOut(name=name, why=_NO_ROOM) for name, _ in files]
        executed = executed.model_copy(
            update={"files_left_out": executed.files_left_out + left_out}
        )
        return _written(context, caller, asked, executed, [], given)


def _fitting(
    context: Context, caller: Caller, executed: Executed, files: Sequence[tuple[str, bytes]]
) -> tuple[Executed, list[tuple[str, bytes]]]:
    """The answer that names the files that cannot be kept, and those that can."""
    room, most = (
        quota_left(context, caller.account_id) if files else 0,
        context.settings.file_bytes_max,
    )
    fitting: list[tuple[str, bytes]] = []
    left_out: list[FileLeftOut] = []
    for name, content in files:
        if len(content) > most:
            left_out.append(
                FileLeftOut(name=name, why=f"a file of the account has {most} bytes at most")
            )
        elif charge_quota(len(content)) > room:
            left_out.append(FileLeftOut(name=name, why=_NO_ROOM))
        else:
            room -= charge_quota(len(content))
            fitting.append((name, content))
    return executed.model_copy(
        update={"files_left_out": executed.files_left_out + left_out}
    ), fitting


def _written(
    context: Context,
    caller: Caller,
    asked: Execution,
    executed: Executed,
    files: Sequence[tuple[str, bytes]],
    given: IdempotentRequest | None,
) -> Executed:
    owner = FileOwner(
        account_id=caller.account_id,
        pinned_user_id=caller.pinned_user_id,
        key_id=caller.key_id,
        made_by="program",
    )
    with stored_file(
        context, owner, [(name, PurePosixPath(name).suffix, content) for name, content in files]
    ) as held_files:

        def answer(tx: Transaction, event_id: str | None) -> str:
            made = [
                ProgramFile(name=name, **file.add(tx).model_dump())
                for (name, _), file in zip(files, held_files, strict=True)
            ]
            return executed.model_copy(
                update={"files": made, "event_id": event_id}
            ).model_dump_json()

        if asked.session_id is None:
            said = context.store.write(
                lambda tx: idempotent(tx, given, context.clock(), lambda: answer(tx, None)),
                account_id=caller.account_id,
            )
        else:
            names = [
                f"{name} ({file.filename})"
                for (name, _), file in zip(files, held_files, strict=True)
            ]
            turn = EventText(
                query=asked.code,
                response=run_text(executed, names),
                topic=_TOPIC,
                occurred_ms=context.clock(),
            )
            place = EventPlace(user_id=asked.user_id, session_id=asked.session_id)
            said = store_turn_idempotently(
                context, caller, place, turn, given, lambda tx, kept, _: answer(tx, kept.event_id)
            )
    return Executed.model_validate_json(said)


def run_text(executed: Executed, files: Sequence[str]) -> str:
    """How a run went, as the text of an event: nothing that steers a terminal, and long output cut
    with a word that says so.

    `files` are what it left, as the program and as the account call it.
    """
    parts = [f"The program ended: {executed.status}."]
    for name, text in (
        ("changed", executed.diff or ""),
        ("stdout", executed.stdout),
        ("stderr", executed.stderr),
        ("result", executed.result or ""),
    ):
        if text.strip():
            parts.append(f"{name}:\n{_shown(text)}")
    if executed.error:
        line = f" (line {executed.error.line})" if executed.error.line else ""
        parts.append(f"error: {executed.error.type}{line}: {_shown(executed.error.message)}")
    if files:
        parts.append("files: " + ", ".join(files))
    return "\n\n".join(parts)


def _shown(text: str) -> str:
    text = _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
    more = len(text) - limits.RUN_TOLD_CHARACTERS_MAX
    return (
        text if more <= 0 else f"{text[: limits.RUN_TOLD_CHARACTERS_MAX]}\n({more} more characters)"
    )
