"""Regular expressions that are compiled when they are first used.

The compiler of `re` is written in Python: the patterns of writes, drafts and repairs took a tenth
of the time of a start, those of notices 5 ms of that of a hook.
"""

from __future__ import annotations

import re
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` does, but compile it at the first call of a method."""
    return LatePattern(pattern, flags)  # type: ignore[return-value]


class LatePattern:
    """A pattern with the methods of a compiled one, each of them an attribute once it is used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Return a method of the compiled pattern. From now on it is found without this call."""
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value
