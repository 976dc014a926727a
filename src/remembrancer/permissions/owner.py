"""Who may give grants, take them back and read the audit trail."""

from __future__ import annotations

from ..accounts import require_owner, require_write
from ..context import Caller
from ..protocol.errors import Forbidden


class OwnerKeyPinned(Forbidden):
    """A key that is pinned to one user_id decides nothing for the whole service. Use another key of
    the owner.
    """


def require_unpinned_owner(caller: Caller) -> None:
    """Raises NotOwner, ReadOnly or KeyPinned unless the key is an owner's and may do all that its
    account may.
    """
    require_owner(caller)
    require_write(caller)
    if caller.pinned_user_id is not None:
        raise OwnerKeyPinned
