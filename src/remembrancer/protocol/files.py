"""Messages about created files and downloads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import Body, Detail, Message, example
from .text import Telling, Text

FileType = Literal[
    "html", "txt", "json", "csv", "md", "svg", "pdf", "png", "zip", "py", "css", "js"
]

_LAST_SECOND = 253_402_300_799  # of the year 9999


class FileCreate(Body):
    """Body of `POST /api/v7/tools/create-file`."""

    model_config = example(
        {"filename": "Ferry times", "content": "harbour,leaves\nPiombino,09:40\n", "type": "csv"}
    )

    filename: Annotated[
        Telling,
        Field(
            max_length=limits.FILENAME_INPUT_CHARACTERS_MAX,
            description="Name without extension. Keeps letters, digits, spaces and `-_.`; drops "
            "folders.",
        ),
    ]
    content: Annotated[
        Text,
        Field(description="Content: text, or base64 (RFC 4648) for pdf, png and zip."),
    ]
    type: Annotated[FileType, Field(description="Type, which is also the extension.")]


class CreatedFile(Message):
    """Answer of `POST /api/v7/tools/create-file`; also a file of a sandbox run."""

    status: Annotated[
        Literal["created"], Field(description="Always `created`: the file is durable.")
    ] = "created"
    filename: Annotated[
        str, Field(description="Name with extension. Twelve hex digits make it unique.")
    ]
    url: Annotated[
        str,
        Field(
            description="Download path for keys of the account: `/download/` and the "
            "percent-encoded name."
        ),
    ]
    size_bytes: Annotated[int, Field(ge=0, description="Size in bytes.")]
    download_url: Annotated[
        str,
        Field(description="Signed download link: works without a key for anyone who has it."),
    ]
    expires_at: Annotated[
        str, Field(description="Expiry of `download_url` (RFC 3339, UTC). `url` does not expire.")
    ]
    detail: Detail = None


class DownloadQuery(Message):
    """Parameters of `GET /download/{filename}`: both come from `download_url`."""

    exp: Annotated[
        int | None,
        Field(
            ge=0, le=_LAST_SECOND, description="Expiry of the link, in seconds since 1970 (UTC)."
        ),
    ] = None
    sig: Annotated[
        Text | None,
        Field(max_length=limits.ID_CHARACTERS_MAX, description="Signature of the link."),
    ] = None
