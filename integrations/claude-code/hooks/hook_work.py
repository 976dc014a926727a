"""The work of a turn besides the prompt: its last failed tool call and the files it changed.

It is sent as `work` with the next search, which then also returns lessons for the error.
"""

from __future__ import annotations

from hook_state import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hook_state import Session

STORED_CHARACTERS_MAX = 20_000  # of an error, until it is sent
ERROR_HEAD_CHARACTERS = 500  # the message of most tools comes first,
ERROR_TAIL_CHARACTERS = 1_500  # that of a Python traceback last; the service searches for 2,000
FILES_MAX = 10  # the latest
NAME_CHARACTERS_MAX = 200  # of a tool (protocol/limits.py)
PATH_CHARACTERS_MAX = 4_096
_FILE_ARGUMENTS = ("file_path", "notebook_path", "path", "target_file")


def note_call(
    event: dict[str, Any], state: dict[str, Any], session: Session, *, has_failed: bool
) -> None:
    """Store the error of a failed call, and the file of a call that has one.

    A call that adds nothing changes no file on disk. `state` is the session's state.
    """
    stored = state.get("work") or {}
    files = _files(event.get("tool_input"), stored.get("files") or [])
    error = error_text(event) if has_failed and not event.get("is_interrupt") else ""
    work = {**stored, "files": files}
    if error:
        tool = _text(event.get("tool_name"))[:NAME_CHARACTERS_MAX]
        work.update(error=error, tools=[tool] if tool else [])
    if error or files != stored.get("files", []):
        session.update(work=work)


def error_text(event: dict[str, Any]) -> str:
    """Return the error text of a failed call, at most STORED_CHARACTERS_MAX; empty if it has none.

    It may contain API keys: the module that removes them takes 10 ms to import, which a search
    needs anyway and a failed call does not.
    """
    response = event.get("tool_response")
    texts = [event.get("error"), event.get("error_message")]
    if isinstance(response, dict):
        texts += [response.get(name) for name in ("error", "stderr", "message", "content")]
    text = readable(next(filter(None, map(_text, texts)), ""))
    return _shortened(text, STORED_CHARACTERS_MAX // 2, STORED_CHARACTERS_MAX // 2)


def work_to_send(work: dict[str, Any]) -> dict[str, Any]:
    """Return `work` for a search: its error without API keys, its beginning and its end."""
    from remembrancer_protocol.pasted import without_secrets

    error = without_secrets(str(work.get("error") or ""))
    shortened = _shortened(error, ERROR_HEAD_CHARACTERS, ERROR_TAIL_CHARACTERS)
    return {**work, "error": shortened} if shortened else work


def _shortened(text: str, head: int, tail: int) -> str:
    if len(text) <= head + tail:
        return text
    return f"{text[:head]}\n{text[1 - tail :]}"


def _files(arguments: object, earlier: list[str]) -> list[str]:
    """Return the files of a turn, the latest last, with that of one more call."""
    if not isinstance(arguments, dict):
        return earlier
    paths = (_text(arguments.get(name)) for name in _FILE_ARGUMENTS)
    path = readable(next(filter(None, paths), ""))
    if not path or len(path) > PATH_CHARACTERS_MAX or path in earlier:
        return earlier
    return [*earlier, path][-FILES_MAX:]


def _text(value: object) -> str:
    """Return a text without space around it; empty for anything else."""
    return value.strip() if isinstance(value, str) else ""
