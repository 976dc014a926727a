"""What a family of repairs is given, and what it gives."""

from __future__ import annotations

from typing import NamedTuple


class Failure(NamedTuple):
    """How a program failed:

    the error's type and message, the line of the source (from 1), and the traceback.
    """

    type: str
    message: str
    line: int | None
    traceback: str

    @property
    def is_of_syntax(self) -> bool:
        """Whether the program itself could not be read; an error of syntax that it met in some
        other text is its own affair.
        """
        return self.type in (
            "SyntaxError",
            "IndentationError",
            "TabError",
        ) and not self.traceback.startswith("Traceback")


class Proposal(NamedTuple):
    """A program that may do what was meant. `name` says in a word or two what was changed."""

    name: str
    code: str


class Trial(NamedTuple):
    """How a proposal ended.

    `failure` is None where it ended well, and where it was ended from outside: that leads nowhere.
    """

    good: bool
    failure: Failure | None
