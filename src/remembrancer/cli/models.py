"""Trying out the language models that the settings name."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from ..context import without_secrets
from ..models import SLOTS, ModelMessage, ModelRequest, ModelTarget, Slot
from ..models.calls import ConfiguredModels
from ..models.port import FAILURE_MESSAGES
from ..settings import Settings

_TOKENS_MAX = 300  # one that thinks aloud needs more than one word
_ASKED = ModelRequest(
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
_ASKED_JSON = ModelMessage("user", 'Answer with this JSON object and nothing else: {"ready": true}')


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """What one model of a slot can do."""

    slot: Slot
    target: ModelTarget
    is_good: bool
    seen: str


def check_models(settings: Settings) -> Iterator[ModelCheck]:
    """Ask each model of each slot for a word, for the same in a stream, and for JSON.

    Raises SettingInvalid.
    """
    with closing(ConfiguredModels(settings, without_secrets)) as models:
        for slot in SLOTS:
            for target in models.targets[slot]:
                yield _examined(models, slot, target, settings.model_seconds)


def _examined(
    models: ConfiguredModels, slot: Slot, target: ModelTarget, seconds: float
) -> ModelCheck:
    question = replace(_ASKED, slot=slot)
    said, tried = models.check(target, question, seconds)
    if said is None:
        why = FAILURE_MESSAGES.get(tried.outcome, tried.outcome)
        return ModelCheck(
            slot=slot, target=target, is_good=False, seen=f"{tried.outcome}: {why} ({tried.detail})"
        )
    started, first = time.perf_counter(), [0.0]

    def note(_: str | None) -> None:
        first[0] = first[0] or (time.perf_counter() - started) * 1000

    streamed, tried_stream = models.check(target, question, seconds, note)
    fitting, _ = models.check(
        target, replace(question, messages=(_ASKED_JSON,), schema=_SCHEMA), seconds
    )
    stream = (
        f"streams, first words after {first[0]:,.0f} ms"
        if streamed
        else f"does not stream ({tried_stream.outcome})"
    )
    shape = (
        "keeps to a JSON schema"
        if fitting and _is_ready(fitting.text)
        else "does not keep to a JSON schema"
    )
    seen = f"answered in {tried.ms:,.0f} ms, {tried.completion_tokens} tokens; {stream}; {shape}"
    return ModelCheck(
        slot=slot, target=target, is_good=streamed is not None or slot != "chat", seen=seen
    )


def _is_ready(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("ready"), bool)
