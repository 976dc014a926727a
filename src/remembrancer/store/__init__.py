"""The store: engines behind two protocols, named SQL, forward migrations.

Imports only `protocol` and `settings`; every package with rows imports it.
"""

from .embedders import embedder_id
from .engine import (
    DataFolderBusy,
    DataFolderReadable,
    OutcomeUnknown,
    Pool,
    Row,
    Store,
    StoreTooNew,
    StoreTooOld,
    StoreUnavailable,
    StoreUnreachable,
    Transaction,
    reason_of,
)
from .locations import IS_SHAREABLE, open_store
from .queries import Queries, load_queries
