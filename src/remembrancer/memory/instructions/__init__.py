"""Standing instructions and preferences of users, by rule.

Pure: no store, no clock, no language model.
"""

from .rules import Instruction, instructions_in, standing_instruction
from .topics import applies, replaces_instruction, topic_words

__all__ = [
    "Instruction",
    "applies",
    "instructions_in",
    "replaces_instruction",
    "standing_instruction",
    "topic_words",
]
