"""The kind of a cube as clients write it: under one of two names, in any case."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from .line import CubeKind, says_none
from .message import Misfit


def _normal(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return None if says_none(value) else value.strip().casefold()


AnyKind = Annotated[CubeKind | None, BeforeValidator(_normal)]


def same_kind(kind: CubeKind | None, cube_type: CubeKind | None) -> None:
    """Raise Misfit if the two names of the kind are given with different values."""
    if kind is not None and cube_type is not None and kind != cube_type:
        raise Misfit("cube_type", "kind and cube_type mean the same; send one of them")
