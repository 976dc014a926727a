"""Language models behind one port:

any endpoint that speaks OpenAI's chat completions, named by settings; or none at all.
"""

from .port import (
    Budget,
    ModelAttempt,
    ModelFailed,
    ModelMessage,
    ModelOutput,
    ModelRequest,
    ModelResponse,
    Models,
    Slot,
    tokens_of,
)
from .slots import SLOTS, ModelTarget, targets_of

__all__ = [
    "SLOTS",
    "Budget",
    "ModelMessage",
    "ModelFailed",
    "Models",
    "ModelRequest",
    "ModelResponse",
    "ModelOutput",
    "Slot",
    "ModelTarget",
    "ModelAttempt",
    "targets_of",
    "tokens_of",
]  # fmt: skip
