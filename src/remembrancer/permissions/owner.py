"""The check for actions that only an unrestricted key of an owner may perform."""

from __future__ import annotations

from ..accounts import require_owner, require_write
from ..context import Caller
from ..protocol.errors import Forbidden


class OwnerKeyPinned(Forbidden):
    """A key that is pinned to one user_id cannot decide for the whole service. Use another key of
    the owner.
    """


def require_unpinned_owner(caller: Caller) -> None:
    """Raise NotOwner, KeyIsReadOnly or OwnerKeyPinned unless it is an unrestricted owner key."""
    require_owner(caller)
    require_write(caller)
    if caller.pinned_user_id is not None:
        raise OwnerKeyPinned
