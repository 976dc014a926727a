"""Agent runtime: runs a model through the protocol of each turn.

`turn.py` is the state machine of a turn and performs no I/O; `drivers.py` carries its steps out,
synchronously or with asyncio. Users import the names below (`docs/guides/runtime.md`); the terminal
chat and the benchmark of the runtime also use `run_turn` and `send_call`.
"""

from .drivers import AsyncRuntime, Runtime, run_turn, send_call
from .session import (
    CallFailed,
    ChatMessage,
    Counts,
    Draft,
    DraftRequest,
    RuntimeOptions,
    ServiceCall,
    Step,
    TurnReply,
)
from .turn import Conversation

__all__ = [
    "AsyncRuntime",
    "CallFailed",
    "ChatMessage",
    "Conversation",
    "Counts",
    "Draft",
    "DraftRequest",
    "Runtime",
    "RuntimeOptions",
    "ServiceCall",
    "Step",
    "TurnReply",
    "run_turn",
    "send_call",
]
