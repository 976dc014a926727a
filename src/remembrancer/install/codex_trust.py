"""Trust of Codex in hooks: it runs a hook only after the user has reviewed it.

Codex stores the review in `config.toml` as `[hooks.state."FILE:EVENT:GROUP:HANDLER"]` with the
member `trusted_hash`. Source: `codex app-server`, method `hooks/list`, release 0.169.0.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from .config_files import PROGRAM, text_of
from .json_text import EditableJson, JsonTextError

CODEX_TRUST_REMEDY = "start codex, enter /hooks and trust the hooks of remembrancer"


def trust_keys(hooks: Path) -> list[str]:
    """Return the keys under which Codex stores its trust in our handlers of a hooks file.

    Empty if the file does not exist or is no JSON.
    """
    try:
        events = EditableJson(text_of(hooks), allows_comments=False).value("hooks")
    except JsonTextError:
        return []
    return [
        f"{hooks}:{_snake_case(event)}:{group}:{handler}"
        for event, groups in (events.items() if isinstance(events, dict) else ())
        for group, entry in enumerate(groups if isinstance(groups, list) else ())
        for handler, command in enumerate(_handlers(entry))
        if PROGRAM in str(command.get("command", ""))
    ]


def untrusted_events(folder: Path) -> list[str]:
    """Return the events of Codex whose hooks of ours it will skip; `folder` is `~/.codex`.

    A hook that changed after its review counts as trusted: only Codex can compare its hash.
    """
    try:
        config: Any = tomllib.loads(text_of(folder / "config.toml") or "")
    except tomllib.TOMLDecodeError:
        config = {}
    hooks = config.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    state = state if isinstance(state, dict) else {}
    keys = trust_keys(folder / "hooks.json")
    return [key.split(":")[-3] for key in keys if not _is_trusted(state.get(key))]


def _is_trusted(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and bool(entry.get("trusted_hash"))
        and entry.get("enabled") is not False
    )


def _handlers(entry: Any) -> list[dict[str, Any]]:
    handlers = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(handlers, list):
        return []
    return [handler if isinstance(handler, dict) else {} for handler in handlers]


def _snake_case(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
