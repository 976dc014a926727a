"""Rules that say when a newer statement replaces an older one, without a language model.

Pure: no store, no clock. The rules cover English, German, French, Spanish, Italian, Russian and
Chinese.
"""

from .comparison import change, change_keys, state_keys
from .requests import Withdrawal, is_about, names_history, withdrawal_in
