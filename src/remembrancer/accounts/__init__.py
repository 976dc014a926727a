"""Who may ask: accounts and their keys."""

from .accounts import (
    NO_KEY,
    OWNER,
    Account,
    AccountUnknown,
    NotOwner,
    Pinned,
    ReadOnly,
    allow_outside_models,
    caller_for,
    default_user_id,
    listed,
    may_use_outside_models,
    may_write,
    must_own,
    space_user_id,
)

__all__ = [
    "NO_KEY",
    "OWNER",
    "Account",
    "AccountUnknown",
    "NotOwner",
    "Pinned",
    "ReadOnly",
    "allow_outside_models",
    "caller_for",
    "default_user_id",
    "listed",
    "may_use_outside_models",
    "may_write",
    "must_own",
    "space_user_id",
]
