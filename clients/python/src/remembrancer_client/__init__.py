"""Python client of Remembrancer: `Client` and `AsyncClient`.

It is the package `remembrancer.client` of the service under a name of its own, so that both can be
installed together. `remembrancer_client.client.runtime` runs a model through the protocol of a
turn, and `remembrancer_client.protocol` has the models of all requests and answers.
"""

from importlib.metadata import version

__version__ = version("remembrancer-client")  # first: the client reads it while it is imported

from .client import (
    AddResult,
    AsyncClient,
    BatchTurn,
    Client,
    ClientError,
    InvalidResponseError,
    KeyMissingError,
    MemoryQuery,
    Retry,
    SearchResult,
    ServiceError,
    Turn,
    TurnBatch,
    UnreachableError,
    WorkContext,
)

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
    "__version__",
]
