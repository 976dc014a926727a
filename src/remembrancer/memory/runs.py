"""Run a program, keep the files it left, and when a session is named, keep the run as an event that can be found and cited."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import PurePosixPath

from ..accounts import may_write, space_user_id
from ..accounts.once import Once, first_answer, once
from ..context import Caller, Context
from ..protocol import limits
from ..protocol.execution import (
    Attempt,
    Confinement,
    Executed,
    Execution,
    ExecutionError,
    ExecutionLimits,
    FileLeftOut,
    ProgramFile,
    Status,
    Usage,
)
from ..protocol.memory import TurnText
from ..store import Transaction
from ..tools.files import AccountFull, Owner, charged, held, room_left
from ..tools.sandbox.plan import OUTPUT_BYTES_LAST
from ..tools.sandbox.sandbox import Run, Sandbox
from .keep import Place, keep_once

_TOPIC = "program run"
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # escapes that would steer a terminal, or that no text may hold
_STOPPED = {
    "timeout": "The program took longer than it may.",
    "output": f"The program printed more than {OUTPUT_BYTES_LAST} bytes.",
    "disk": "The program wrote more than it may.",
}
_NO_ROOM = "the files of this account take all the room they may"


def execute(context: Context, sandbox: Sandbox, caller: Caller, asked: Execution, given: Once | None = None) -> Executed:
    """Run it, wait for its end, and say how it went; its files are durable by then, and when `session_id` is given the run is searchable.

    Raises ReadOnly, Pinned, Conflict as `once`, SandboxBusy, SandboxUnavailable,
    StoreUnavailable, EmbedderUnavailable.
    """
    may_write(caller)
    space_user_id(caller, asked.user_id)
    if given is not None and (first := context.store.read(lambda tx: first_answer(tx, given, context.clock()))) is not None:
        return Executed.model_validate_json(first)
    began = time.monotonic()
    run = sandbox.run(asked.code, seconds=asked.timeout_s)
    executed = _executed(run, asked, sandbox, duration_ms=(time.monotonic() - began) * 1_000)
    return _kept(context, caller, asked, executed, run.files, given)


def _kept(
    context: Context, caller: Caller, asked: Execution, executed: Executed, files: Sequence[tuple[str, bytes]], given: Once | None
) -> Executed:
    """Keep the files, the event when a session is named, and the answer for when it is asked for again: all or nothing."""
    if not files and asked.session_id is None and given is None:
        return executed
    try:
        return _written(context, caller, asked, *_fitting(context, caller, executed, files), given)
    except AccountFull:  # others of the account were faster; a run is worth more than its files
        left_out = [FileLeftOut(name=name, why=_NO_ROOM) for name, _ in files]
        executed = executed.model_copy(update={"files_left_out": executed.files_left_out + left_out})
        return _written(context, caller, asked, executed, [], given)


def _fitting(
    context: Context, caller: Caller, executed: Executed, files: Sequence[tuple[str, bytes]]
) -> tuple[Executed, list[tuple[str, bytes]]]:
    """The answer that names the files that cannot be kept, and those that can."""
    room, most = room_left(context, caller.account_id) if files else 0, context.settings.file_bytes_max
    fitting: list[tuple[str, bytes]] = []
    left_out: list[FileLeftOut] = []
    for name, content in files:
        if len(content) > most:
            left_out.append(FileLeftOut(name=name, why=f"a file of the account has {most} bytes at most"))
        elif charged(len(content)) > room:
            left_out.append(FileLeftOut(name=name, why=_NO_ROOM))
        else:
            room -= charged(len(content))
            fitting.append((name, content))
    return executed.model_copy(update={"files_left_out": executed.files_left_out + left_out}), fitting


def _written(
    context: Context, caller: Caller, asked: Execution, executed: Executed, files: Sequence[tuple[str, bytes]], given: Once | None
) -> Executed:
    owner = Owner(account_id=caller.account_id, pinned_user_id=caller.pinned_user_id)
    with held(context, owner, [(name, PurePosixPath(name).suffix, content) for name, content in files]) as held_files:

        def answer(tx: Transaction, event_id: str | None) -> str:
            made = [ProgramFile(name=name, **file.add(tx).model_dump()) for (name, _), file in zip(files, held_files, strict=True)]
            return executed.model_copy(update={"files": made, "event_id": event_id}).model_dump_json()

        if asked.session_id is None:
            said = context.store.write(lambda tx: once(tx, given, context.clock(), lambda: answer(tx, None)))
        else:
            names = [f"{name} ({file.filename})" for (name, _), file in zip(files, held_files, strict=True)]
            turn = TurnText(query=asked.code, response=told(executed, names), topic=_TOPIC)
            place = Place(user_id=asked.user_id, session_id=asked.session_id)
            said = keep_once(context, caller, place, turn, given, lambda tx, kept, _: answer(tx, kept.event_id))
    return Executed.model_validate_json(said)


def told(executed: Executed, files: Sequence[str]) -> str:
    """How a run went, as the text of an event: nothing that steers a terminal, and long output cut with a word that says so.

    `files` are what it left, as the program and as the account call it.
    """
    parts = [f"The program ended: {executed.status}."]
    for name, text in (("stdout", executed.stdout), ("stderr", executed.stderr), ("result", executed.result or "")):
        if text.strip():
            parts.append(f"{name}:\n{_shown(text)}")
    if executed.error:
        line = f" (line {executed.error.line})" if executed.error.line else ""
        parts.append(f"error: {executed.error.type}{line}: {_shown(executed.error.message)}")
    if files:
        parts.append("files: " + ", ".join(files))
    return "\n\n".join(parts)


def _executed(run: Run, asked: Execution, sandbox: Sandbox, *, duration_ms: float) -> Executed:
    status, error = judge(run)
    bounds = sandbox.bounds
    limits_of_run = ExecutionLimits(
        seconds=asked.timeout_s or bounds.seconds,
        memory_bytes=bounds.memory_bytes,
        disk_bytes=bounds.disk_bytes,
        files=bounds.files,
        output_bytes=bounds.output_bytes,
        threads=bounds.threads,
    )
    return Executed(
        status=status,
        stdout=run.stdout,
        stderr=run.stderr,
        stdout_truncated=run.stdout_truncated,
        stderr_truncated=run.stderr_truncated,
        result=run.result if status == "ok" else None,
        result_truncated=run.result_truncated and status == "ok",
        error=error,
        code=asked.code,
        mode=asked.mode,
        fixed=False,
        diff=None,
        attempts=[Attempt(stage="run", outcome=status, error=error.type if error else None, ms=_ms(run.wall_ms))],
        files=[],
        files_left_out=[FileLeftOut(name=name, why=why) for name, why in run.left_out],
        files_not_named=run.not_named,
        exit_code=run.exit_code,
        signal=run.signal,
        usage=Usage(wall_ms=_ms(run.wall_ms), cpu_ms=_ms(run.cpu_ms), max_rss_kb=run.max_rss_kb),
        sandbox=Confinement.model_validate({"level": run.level, "limits": limits_of_run}),
        duration_ms=_ms(duration_ms),
    )


def judge(run: Run) -> tuple[Status, ExecutionError | None]:
    """How a run ended, and why it did not end well. What the program says of itself counts only where the kernel says it failed."""
    if run.stopped:
        status: Status = "timeout" if run.stopped == "timeout" else "killed"
        kind = "Timeout" if run.stopped == "timeout" else "Killed"
        return status, ExecutionError(type=kind, message=_STOPPED.get(run.stopped, "The program was stopped."), line=None, traceback="")
    if run.signal:
        return "killed", ExecutionError(type="Killed", message=f"The program was ended by {run.signal}.", line=None, traceback="")
    if run.exit_code == 0:
        return "ok", None
    if run.error and run.error["type"]:
        return "failed", ExecutionError.model_validate(run.error)
    return "failed", ExecutionError(
        type="SystemExit", message=f"The program ended with exit status {run.exit_code}.", line=None, traceback=""
    )


def _shown(text: str) -> str:
    text = _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
    more = len(text) - limits.RUN_TOLD_CHARACTERS_MAX
    return text if more <= 0 else f"{text[: limits.RUN_TOLD_CHARACTERS_MAX]}\n({more} more characters)"


def _ms(value: float) -> float:
    return round(value, 2)
