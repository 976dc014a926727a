"""What a key is told about itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .message import Message


class OwnKey(Message):
    """Answer of `GET /api/v7/key`."""

    account: Annotated[str, Field(description="The account it is of.")]
    user_id: Annotated[
        str,
        Field(
            description="Whose memory is meant where none is named: the key's pin, else the account's name."
        ),
    ]
    pinned: Annotated[bool, Field(description="Whether it may touch no other user's memory.")]
    read_only: Annotated[bool, Field(description="Whether it may only read.")]
    is_owner: Annotated[bool, Field(description="Whether the account is the owner of the service.")]
