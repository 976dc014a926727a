"""Search: text analysis for any language, embedders, the index of one space, ranking.

No tables and no users: callers pass rows and texts in. Imports only `protocol` and `settings`.
"""

from .embedders.opening import open_embedder
from .embedders.port import Embedder, EmbedderUnavailable, SymmetricEmbedder, Vectors
from .embedders.regressions import load_regression
from .embedders.serving import QueryVectors, VectorLayout, VectorMissing, quantize
from .index.entries import (
    EntryBatch,
    EntryMaker,
    EventText,
    IndexEntry,
    OwnSentence,
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
from .ranking import (
    SIGNALS,
    Decay,
    Known,
    Ranker,
    Ranking,
    Successor,
    load_ranker,
    load_succession,
)
from .rerankers import BoundedReranker, Reranker, RerankerUnavailable, open_reranker
from .scoring import (
    Fit,
    RankedEvent,
    cosines,
    embedding_text,
    first_vectors,
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
