"""Checks for what only an owner may do, with a key that is not pinned to one user."""

from __future__ import annotations

from ..accounts import require_owner, require_write
from ..context import Caller
from ..protocol.errors import Forbidden


class OwnerKeyPinned(Forbidden):
    """A key that is pinned to one user_id cannot act for the whole service. Use another key of the
    owner.
    """


def require_unpinned_owner(caller: Caller) -> None:
    """Raise NotOwner, KeyIsReadOnly or OwnerKeyPinned unless it is an unrestricted owner key."""
    require_unpinned_reader(caller)
    require_write(caller)


def require_unpinned_reader(caller: Caller) -> None:
    """Raise NotOwner or OwnerKeyPinned unless it is an owner key without a pin."""
    require_owner(caller)
    if caller.pinned_user_id is not None:
        raise OwnerKeyPinned
