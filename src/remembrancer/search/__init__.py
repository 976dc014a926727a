"""Finding again:

analysis of text in any language, embedders, indexes of one space, ranking. No tables, no users.
"""

from .candidates import Statistics, best_events, frequencies_in, view_among
from .embedder import Embedder, EmbedderUnavailable, QueryVectors, open_embedder
from .index.cache import Shelf
from .index.encoding import Batch, WordsDamaged, pack, quantised, unpack
from .index.entries import Derived, Said, derive, derived_by, unpack_mended
from .index.space_index import SpaceIndex, View
from .ranking import SIGNALS, SUSPECT_COST, Found, Reason, Weights, load_weights
from .scoring import cosines, idf_of, is_frequent, lexical, meant, steering_text
from .text.analysis import Part, Question, Word, ask, contains, marks, take_apart
from .text.languages import normal
from .text.passages import passages

__all__ = [
    "SIGNALS",
    "SUSPECT_COST",
    "Batch",
    "Derived",
    "Embedder",
    "EmbedderUnavailable",
    "Found",
    "Part",
    "QueryVectors",
    "Question",
    "Reason",
    "Said",
    "Shelf",
    "SpaceIndex",
    "Statistics",
    "View",
    "Weights",
    "Word",
    "WordsDamaged",
    "ask",
    "best_events",
    "contains",
    "cosines",
    "derive",
    "derived_by",
    "frequencies_in",
    "idf_of",
    "is_frequent",
    "lexical",
    "load_weights",
    "marks",
    "meant",
    "normal",
    "open_embedder",
    "pack",
    "passages",
    "quantised",
    "steering_text",
    "take_apart",
    "unpack",
    "unpack_mended",
    "view_among",
]  # fmt: skip
