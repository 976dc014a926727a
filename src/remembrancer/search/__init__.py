"""Finding again:

analysis of text in any language, embedders, indexes of one space, ranking. No tables, no users.
"""

from .candidates import SpaceTerms, best_events, frequencies_in, view_among
from .embedder import Embedder, EmbedderUnavailable, QueryVectors, open_embedder, quantize
from .index.cache import IndexCache
from .index.entries import (
    EntryBatch,
    EntryDamaged,
    EventText,
    IndexEntry,
    analysis_id,
    index_entries,
    pack,
    unpack,
    unpack_repaired,
)
from .index.space_index import IndexView, SpaceIndex
from .ranking import SIGNALS, SUSPECT_COST, Ranking, Reason, Weights, load_weights
from .scoring import (
    cosines,
    embedding_text,
    idf_of,
    is_frequent,
    lexical_scores,
    query_term_weights,
)
from .text.analysis import (
    ParsedQuery,
    Passage,
    QueryWord,
    analyze,
    contains,
    highlight,
    parse_query,
    passages,
)
from .text.languages import normalize

__all__ = [
    "SIGNALS",
    "SUSPECT_COST",
    "Embedder",
    "EmbedderUnavailable",
    "EntryBatch",
    "EntryDamaged",
    "EventText",
    "IndexCache",
    "IndexEntry",
    "IndexView",
    "ParsedQuery",
    "Passage",
    "QueryVectors",
    "QueryWord",
    "Ranking",
    "Reason",
    "SpaceIndex",
    "SpaceTerms",
    "Weights",
    "analysis_id",
    "analyze",
    "best_events",
    "contains",
    "cosines",
    "embedding_text",
    "frequencies_in",
    "highlight",
    "idf_of",
    "index_entries",
    "is_frequent",
    "lexical_scores",
    "load_weights",
    "normalize",
    "open_embedder",
    "pack",
    "parse_query",
    "passages",
    "quantize",
    "query_term_weights",
    "unpack",
    "unpack_repaired",
    "view_among",
]  # fmt: skip
