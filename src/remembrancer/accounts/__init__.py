"""Who may ask: accounts and their keys."""

from .accounts import Account, Pinned, ReadOnly, default_user_id, listed, may_write, space_user_id

__all__ = ["Account", "Pinned", "ReadOnly", "default_user_id", "listed", "may_write", "space_user_id"]
