"""Finding again: analysis of text in any language, embedders, indexes of one space, ranking. No tables, no users."""

from .embed import Embedder, EmbedderUnavailable, open_embedder
from .shelf import Shelf

__all__ = ["Embedder", "EmbedderUnavailable", "Shelf", "open_embedder"]
