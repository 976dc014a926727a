"""Finding again: analysis of text in any language, embedders, indexes of one space, ranking. No tables, no users."""

from .analysis import Part, Question, Word, ask, contains, marks, take_apart
from .coding import Batch, WordsDamaged, pack, quantised, unpack
from .derive import Derived, Said, derive, derived_by, unpack_mended
from .embed import Embedder, EmbedderUnavailable, QueryVectors, open_embedder
from .index import SpaceIndex, View
from .languages import normal
from .passages import passages
from .ranking import SIGNALS, SUSPECT_COST, Found, Weights, load_weights
from .scoring import cosines, is_frequent, lexical, steering_text
from .shelf import Shelf

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
    "Said",
    "Shelf",
    "SpaceIndex",
    "View",
    "Weights",
    "Word",
    "WordsDamaged",
    "ask",
    "contains",
    "cosines",
    "derive",
    "derived_by",
    "is_frequent",
    "lexical",
    "load_weights",
    "marks",
    "normal",
    "open_embedder",
    "pack",
    "passages",
    "quantised",
    "steering_text",
    "take_apart",
    "unpack",
    "unpack_mended",
]  # fmt: skip
