"""Rules that say when a newer statement replaces an older one, without a language model.

Pure: no store, no clock. The rules cover English, German, French, Spanish, Italian, Russian and
Chinese.
"""

from .comparison import ValueChange, change, change_keys
from .history import names_history

__all__ = ["ValueChange", "change", "change_keys", "names_history"]
