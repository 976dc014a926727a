"""The input and output of repair rules."""

from __future__ import annotations

from typing import NamedTuple


class Failure(NamedTuple):
    """The error of a program; `line` counts the program's lines from 1."""

    type: str
    message: str
    line: int | None
    traceback: str

    @property
    def is_syntax_error(self) -> bool:
        """Return True if the program itself has a syntax error, not some text that it compiled."""
        is_syntax_type = self.type in ("SyntaxError", "IndentationError", "TabError")
        return is_syntax_type and not self.traceback.startswith("Traceback")


class Proposal(NamedTuple):
    """A changed program. `name` describes the change in a word or two."""

    name: str
    code: str


class Trial(NamedTuple):
    """The outcome of running a proposal.

    `failure` is None if the program succeeded, or if it was stopped: then no rule can help.
    """

    is_success: bool
    failure: Failure | None
