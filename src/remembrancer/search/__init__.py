"""Search: text analysis for any language, embedders, the index of one space, ranking.

No tables and no users: callers pass rows and texts in. Imports only `protocol` and `settings`.
"""

from .candidates import SpaceTerms, best_events, frequencies_in, view_among
from .demotions import SUSPECT_COST, Decay
from .embedders.opening import open_embedder
from .embedders.port import Embedder, EmbedderUnavailable, SymmetricEmbedder
from .embedders.serving import QueryVectors, VectorLayout, VectorMissing, quantize
from .features import SIGNALS
from .index.entries import (
    EntryBatch,
    EntryDamaged,
    EventText,
    IndexEntry,
    analysis_id,
    index_entries,
    pack,
    repeated,
    unpack,
    unpack_repaired,
)
from .index.entry_pool import EntryMaker, entry_maker
from .index.index_cache import IndexCache
from .index.segment_folder import SegmentFolder, SegmentName
from .index.segments import SegmentOrigin
from .index.space_index import IndexView, SpaceIndex
from .ranker import Ranker, load_ranker
from .ranking import Ranking, Reason
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
    query_term_weights,
)
from .text.analysis import (
    ParsedQuery,
    Passage,
    QueryWord,
    SearchTerms,
    analyze,
    contains,
    highlight,
    parse_query,
    parse_terms,
)
from .text.disclaimers import disclaims
from .text.languages import normalize
from .text.passages import passages, side_passages

__all__ = [
    "SIGNALS",
    "SUSPECT_COST",
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
    "passages",
    "quantize",
    "query_term_weights",
    "repeated",
    "side_passages",
    "unpack",
    "unpack_repaired",
    "view_among",
]  # fmt: skip
