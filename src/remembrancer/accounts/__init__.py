"""Accounts, API keys, sign-in, idempotency, rate limits and usage.

Imported by `permissions` and the packages after it.
"""

from .accounts import (
    NO_KEY,
    OWNER,
    AccountUnknown,
    allow_outside_models,
    caller_for,
    list_accounts,
    may_use_outside_models,
)
from .keys import (
    KeyIsReadOnly,
    NotOwner,
    PinnedToOtherUser,
    default_user_id,
    is_user_of_session,
    name_session_user,
    records_user,
    require_owner,
    require_write,
    session_user,
    session_user_id,
    space_user_id,
    user_of_session,
    user_reminder,
)
