"""`remembrancer models`: test the configured language models."""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from .commands import DataFolder, load_settings, print_table
from .output import Commands

if TYPE_CHECKING:
    from ..models import ChoiceDelta, ModelTarget, Slot
    from ..models.calls import ConfiguredModels

app = Commands(no_args_is_help=True, help="Test the configured language models.")
_TOKENS_MAX = 300  # reasoning models need more than one word
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@app.command("check")
def check(context: typer.Context, data: DataFolder = None) -> None:
    """Test each model: its speed and features.

    Sends a request to each model of each slot. Works while a server is running.
    """
    from ..context import without_secrets
    from ..models import SLOTS
    from ..models.calls import ConfiguredModels

    settings = load_settings(context, data)
    rows = []
    with closing(ConfiguredModels(settings, without_secrets)) as models:
        for slot in SLOTS:
            for target in models.targets[slot]:
                state, detail = _check(models, slot, target, settings.model_seconds)
                rows.append((state, slot, target.model, target.base_url, detail))
    if not rows:
        print("No language model is configured; see docs/reference/settings.md.", file=sys.stderr)
    print_table(("state", "slot", "model", "address", "seen"), rows)
    if any(state != "ok" for state, *_ in rows):
        sys.exit(1)


def _check(
    models: ConfiguredModels, slot: Slot, target: ModelTarget, seconds: float
) -> tuple[str, str]:
    """Request a word: plain, streamed, and as JSON. Return `ok` or `wrong`, and what was seen."""
    from ..models import ModelMessage, ModelRequest
    from ..models.port import FAILURE_MESSAGES

    request = ModelRequest(
        slot=slot,
        messages=(ModelMessage("user", "Answer with the single word: ready"),),
        tokens_max=_TOKENS_MAX,
        temperature=0.0,
    )
    answer, attempt = models.check(target, request, seconds)
    if answer is None:
        why = FAILURE_MESSAGES.get(attempt.outcome, attempt.outcome)
        return "wrong", f"{attempt.outcome}: {why} ({attempt.detail})"
    start, first_ms = time.perf_counter(), [0.0]

    def note_first_text(piece: ChoiceDelta | None) -> None:
        if piece is not None and piece.text:
            first_ms[0] = first_ms[0] or (time.perf_counter() - start) * 1000

    streamed, stream_attempt = models.check(target, request, seconds, note_first_text)
    text = 'Answer with this JSON object and nothing else: {"ready": true}'
    as_json = replace(request, messages=(ModelMessage("user", text),), schema=_SCHEMA)
    json_answer, _ = models.check(target, as_json, seconds)
    stream = f"streams, first text after {first_ms[0]:,.0f} ms"
    if not streamed:
        stream = f"does not stream ({stream_attempt.outcome})"
    follows = "follows" if json_answer and _is_ready(json_answer.text) else "does not follow"
    summary = f"answered in {attempt.ms:,.0f} ms, {attempt.completion_tokens} tokens; {stream}"
    state = "ok" if streamed or slot != "chat" else "wrong"
    return state, f"{summary}; {follows} a JSON schema"


def _is_ready(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("ready"), bool)
