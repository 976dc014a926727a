"""Standing instructions and preferences of users: what states one, and what it applies to.

No store, no clock, no language model.
"""

from .facts import standing_instruction
from .topics import applies, replaces_instruction
from .wishes import Instruction, instructions_in, own_sentences, stated_in
