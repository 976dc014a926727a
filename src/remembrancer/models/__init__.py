"""Language models behind one port:

any endpoint that speaks OpenAI's chat completions, named by settings; or none at all.
"""

from .port import Budget, Message, ModelFailed, Models, Question, Reply, Said, Slot, Try, tokens_of
from .slots import SLOTS, Target, targets_of

__all__ = [
    "SLOTS",
    "Budget",
    "Message",
    "ModelFailed",
    "Models",
    "Question",
    "Reply",
    "Said",
    "Slot",
    "Target",
    "Try",
    "targets_of",
    "tokens_of",
]  # fmt: skip
