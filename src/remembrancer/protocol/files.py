"""What is said when a file is created, and when it is downloaded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import Message, example
from .text import Telling, Text

FileType = Literal[
    "html", "txt", "json", "csv", "md", "svg", "pdf", "png", "zip", "py", "css", "js"
]  # specification, Create a file

_LAST_SECOND = 253_402_300_799  # of the year 9999


class FileCreate(Message):
    """Body of `POST /api/v7/tools/create-file`."""

    model_config = example(
        {"filename": "Ferry times", "content": "harbour,leaves\nPiombino,09:40\n", "type": "csv"}
    )

    filename: Annotated[
        Telling,
        Field(
            max_length=limits.FILENAME_GIVEN_CHARACTERS_MAX,
            description="Name without extension. Letters, digits, spaces and `-_.` of it are kept; a folder in it is left out.",
        ),
    ]
    content: Annotated[
        Text,
        Field(
            description="The content: text, or base64 (RFC 4648, one line) for pdf, png and zip."
        ),
    ]
    type: Annotated[FileType, Field(description="What it is, and its extension.")]


class CreatedFile(Message):
    """Answer of `POST /api/v7/tools/create-file`, and what a program in the sandbox left."""

    status: Annotated[
        Literal["created"], Field(description="Always `created`: the file is durable.")
    ] = "created"
    filename: Annotated[
        str, Field(description="Its name with extension: twelve hex digits in it make it unique.")
    ]
    url: Annotated[
        str,
        Field(
            description="Where it is downloaded with a key of the account: `/download/` and the name, percent-encoded."
        ),
    ]
    size_bytes: Annotated[int, Field(ge=0, description="Its size in bytes.")]
    download_url: Annotated[
        str,
        Field(
            description="The same with a signature: whoever has it can download the file, without a key."
        ),
    ]
    expires_at: Annotated[
        str, Field(description="When `download_url` ends (RFC 3339, UTC). `url` does not end.")
    ]


class DownloadQuery(Message):
    """Parameters of `GET /download/{filename}`: both come from `download_url`."""

    exp: Annotated[
        int | None,
        Field(
            ge=0, le=_LAST_SECOND, description="When the link ends, in seconds since 1970 (UTC)."
        ),
    ] = None
    sig: Annotated[
        Text | None, Field(max_length=limits.ID_CHARACTERS_MAX, description="Its signature.")
    ] = None
