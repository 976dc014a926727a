"""The work of `remembrancer models check`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from ..context import without_secrets
from ..models import SLOTS, ChoiceDelta, ModelMessage, ModelRequest, ModelTarget, Slot
from ..models.calls import ConfiguredModels
from ..models.port import FAILURE_MESSAGES
from ..settings import Settings

_TOKENS_MAX = 300  # reasoning models need more than one word
_REQUEST = ModelRequest(
    slot="chat",
    messages=(ModelMessage("user", "Answer with the single word: ready"),),
    tokens_max=_TOKENS_MAX,
    temperature=0.0,
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
_JSON_MESSAGE = ModelMessage(
    "user", 'Answer with this JSON object and nothing else: {"ready": true}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """The test result of one model of a slot."""

    slot: Slot
    target: ModelTarget
    is_good: bool
    detail: str


def check_models(settings: Settings) -> Iterator[ModelCheck]:
    """Request a word from each model of each slot: plain, streamed, and as JSON.

    Raises SettingInvalid.
    """
    with closing(ConfiguredModels(settings, without_secrets)) as models:
        for slot in SLOTS:
            for target in models.targets[slot]:
                yield _check(models, slot, target, settings.model_seconds)


def _check(models: ConfiguredModels, slot: Slot, target: ModelTarget, seconds: float) -> ModelCheck:
    request = replace(_REQUEST, slot=slot)
    answer, attempt = models.check(target, request, seconds)
    if answer is None:
        why = FAILURE_MESSAGES.get(attempt.outcome, attempt.outcome)
        return ModelCheck(
            slot=slot,
            target=target,
            is_good=False,
            detail=f"{attempt.outcome}: {why} ({attempt.detail})",
        )
    start, first_ms = time.perf_counter(), [0.0]

    def note_first_text(piece: ChoiceDelta | None) -> None:
        if piece is not None and piece.text:
            first_ms[0] = first_ms[0] or (time.perf_counter() - start) * 1000

    streamed_answer, stream_attempt = models.check(target, request, seconds, note_first_text)
    json_answer, _ = models.check(
        target, replace(request, messages=(_JSON_MESSAGE,), schema=_SCHEMA), seconds
    )
    stream = (
        f"streams, first text after {first_ms[0]:,.0f} ms"
        if streamed_answer
        else f"does not stream ({stream_attempt.outcome})"
    )
    shape = (
        "follows a JSON schema"
        if json_answer and _is_ready(json_answer.text)
        else "does not follow a JSON schema"
    )
    detail = (
        f"answered in {attempt.ms:,.0f} ms, {attempt.completion_tokens} tokens; {stream}; {shape}"
    )
    return ModelCheck(
        slot=slot,
        target=target,
        is_good=streamed_answer is not None or slot != "chat",
        detail=detail,
    )


def _is_ready(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("ready"), bool)
