"""Typed Python client of the service.

`Client` and `AsyncClient` have plain verbs (`add`, `search`) and one method for each endpoint;
`docs/guides/client.md` shows them.
`runtime` runs a model through the protocol of a turn, `adapters` connects models and agent
frameworks to it, `tools` and `memory_tool` describe tools for agents. The package imports only
`remembrancer.protocol`. Users import it, and so do the entry points that act as clients of a
service: the command line, the terminal chat and MCP.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..protocol.memory import BatchTurn, Turn, TurnBatch
    from ..protocol.search import MemoryQuery, WorkContext
    from .api import AsyncClient, Client
    from .api_request import Retry
    from .credentials import KeyMissingError
    from .errors import ClientError, InvalidResponseError, ServiceError, UnreachableError
    from .results import AddResult, SearchResult

# Imported with their first use: the relay of MCP needs none of them, and an agent waits for it.
_MODULES = {
    "..protocol.memory": "BatchTurn Turn TurnBatch",
    "..protocol.search": "MemoryQuery WorkContext",
    ".api": "AsyncClient Client",
    ".api_request": "Retry",
    ".credentials": "KeyMissingError",
    ".errors": "ClientError InvalidResponseError ServiceError UnreachableError",
    ".results": "AddResult SearchResult",
}

__all__ = [
    "AddResult",
    "AsyncClient",
    "BatchTurn",
    "Client",
    "ClientError",
    "InvalidResponseError",
    "KeyMissingError",
    "MemoryQuery",
    "Retry",
    "SearchResult",
    "ServiceError",
    "Turn",
    "TurnBatch",
    "UnreachableError",
    "WorkContext",
]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(module, __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
