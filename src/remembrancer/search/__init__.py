"""Finding again: analysis of text in any language, embedders, indexes of one space, ranking. No tables, no users."""

from .analysis import Part, Question, ask, contains, take_apart
from .coding import VERSION as WORDS_VERSION
from .coding import Batch, WordsDamaged, pack, quantised, unpack
from .embed import Embedder, EmbedderUnavailable, QueryVectors, open_embedder
from .index import SpaceIndex, View
from .languages import normal
from .passages import passages
from .ranking import Found, Weights, load_weights
from .scoring import cosines, lexical, steering_text
from .shelf import Shelf

__all__ = [
    "WORDS_VERSION",
    "Batch",
    "Embedder",
    "EmbedderUnavailable",
    "Found",
    "Part",
    "QueryVectors",
    "Question",
    "Shelf",
    "SpaceIndex",
    "View",
    "Weights",
    "WordsDamaged",
    "ask",
    "contains",
    "cosines",
    "lexical",
    "load_weights",
    "normal",
    "open_embedder",
    "pack",
    "passages",
    "quantised",
    "steering_text",
    "take_apart",
    "unpack",
]  # fmt: skip
