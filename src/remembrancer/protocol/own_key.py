"""The description of a key."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .message import Id, Message


class OwnKeyQuery(Message):
    """Parameters of `GET /api/v7/key`."""

    session_id: Annotated[
        Id | None, Field(description="Session whose user to return. Default: none.")
    ] = None


class OwnKey(Message):
    """Answer of `GET /api/v7/key`."""

    account: Annotated[str, Field(description="Account of the key.")]
    user_id: Annotated[
        str,
        Field(
            description="User used when a request names none: the key's pin, else the user_id that "
            "the key last named with `session_id`, else the account's name."
        ),
    ]
    pinned: Annotated[bool, Field(description="True if the key works for one user only.")]
    read_only: Annotated[bool, Field(description="True if the key may only read.")]
    protocol: Annotated[
        bool,
        Field(
            description="False: every request with this key is a pure read or write: searches "
            "count no step, and nothing is due."
        ),
    ]
    is_owner: Annotated[bool, Field(description="True if the account is an owner of the service.")]
    expires_at: Annotated[
        str | None,
        Field(
            description="Time at which the key expires (RFC 3339, UTC). Null: it does not expire."
        ),
    ] = None
