"""The findings of `remembrancer doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "notice", "wrong"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The state of one component, the observation, and the remedy.

    `notice` means that it works, but the owner should know.
    """

    part: str
    state: State
    detail: str
    remedy: str = ""
