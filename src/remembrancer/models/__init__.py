"""Language models behind one interface: any OpenAI-compatible endpoint of the settings, or none.

Imported by `context` and every package that calls a model.
"""

from .port import (
    SLOTS,
    Budget,
    ChoiceDelta,
    ModelAttempt,
    ModelChoice,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    Models,
    ModelTarget,
    Slot,
    tokens_of,
)
