"""The sandbox that repaired programs run in."""

from __future__ import annotations

from sandbox.conftest import box

__all__ = ["box"]
