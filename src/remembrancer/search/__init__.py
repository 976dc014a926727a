"""Search: text analysis for any language, embedders, the index of one space, ranking.

No tables and no users: callers pass rows and texts in. Imports only `protocol` and `settings`.
"""

from .candidates import SpaceTerms, best_events, frequencies_in, view_among
from .embedders.opening import open_embedder
from .embedders.port import Embedder, EmbedderUnavailable, SymmetricEmbedder
from .embedders.serving import QueryVectors, VectorLayout, VectorMissing, quantize
from .index.entries import (
    EntryBatch,
    EntryDamaged,
    EntryMaker,
    EventText,
    IndexEntry,
    analysis_id,
    entry_maker,
    index_entries,
    pack,
    repeated,
    unpack,
    unpack_repaired,
)
from .index.segments import SegmentFolder, SegmentName, SegmentOrigin
from .index.space_index import IndexCache, IndexView, SpaceIndex
from .ranking import SIGNALS, Decay, Known, Ranker, Ranking, Reason, Successor, load_ranker
from .rerankers.opening import open_reranker
from .rerankers.port import BoundedReranker, Reranker, RerankerUnavailable
from .scoring import (
    Fit,
    RankedEvent,
    cosines,
    embedding_text,
    fitting,
    idf_of,
    is_frequent,
    lexical_scores,
    parts_with,
    query_term_weights,
)
from .text.analysis import (
    UNVERIFIED,
    ParsedQuery,
    Passage,
    QueryWord,
    SearchTerms,
    analyze,
    contains,
    highlight,
    parse_query,
    parse_terms,
    passages,
    side_passages,
)
from .text.languages import normalize
from .text.machine_text import disclaims

__all__ = [
    "SIGNALS",
    "UNVERIFIED",
    "BoundedReranker",
    "Decay",
    "Embedder",
    "EmbedderUnavailable",
    "EntryBatch",
    "EntryDamaged",
    "EntryMaker",
    "EventText",
    "Fit",
    "IndexCache",
    "IndexEntry",
    "IndexView",
    "Known",
    "ParsedQuery",
    "Passage",
    "QueryVectors",
    "QueryWord",
    "RankedEvent",
    "Ranker",
    "Ranking",
    "Reason",
    "Reranker",
    "RerankerUnavailable",
    "SearchTerms",
    "SegmentFolder",
    "SegmentName",
    "SegmentOrigin",
    "SpaceIndex",
    "SpaceTerms",
    "Successor",
    "SymmetricEmbedder",
    "VectorLayout",
    "VectorMissing",
    "analysis_id",
    "analyze",
    "best_events",
    "contains",
    "cosines",
    "disclaims",
    "embedding_text",
    "entry_maker",
    "fitting",
    "frequencies_in",
    "highlight",
    "idf_of",
    "index_entries",
    "is_frequent",
    "lexical_scores",
    "load_ranker",
    "normalize",
    "open_embedder",
    "open_reranker",
    "pack",
    "parse_query",
    "parse_terms",
    "parts_with",
    "passages",
    "quantize",
    "query_term_weights",
    "repeated",
    "side_passages",
    "unpack",
    "unpack_repaired",
    "view_among",
]  # fmt: skip
