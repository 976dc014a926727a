"""Where rows live: engines behind two protocols, named SQL, forward migrations."""

from .embedders import embedder_id
from .engine import DataFolderBusy, Row, Store, StoreTooNew, StoreUnavailable, Transaction, open_store
from .queries import Queries, named

__all__ = [
    "DataFolderBusy",
    "Queries",
    "Row",
    "Store",
    "StoreTooNew",
    "StoreUnavailable",
    "Transaction",
    "embedder_id",
    "named",
    "open_store",
]
