"""Messages about files: created ones, and those of Anthropic's memory tool."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .message import Body, Detail, Id, Message, Misfit, OrAbsent, RowNumber
from .service_keys import mask_service_keys
from .text import Telling, Text

# --- Messages about created files and downloads ----------------------------------------------

FileType = Literal[
    "html", "txt", "json", "csv", "md", "svg", "pdf", "png", "zip", "py", "css", "js"
]

_LAST_SECOND = 253_402_300_799  # of the year 9999


class FileCreate(Body):
    r"""Body of `POST /api/v7/tools/create-file`.

    Example: {
      "filename": "Ferry times",
      "content": "harbour,leaves\nPiombino,09:40\n",
      "type": "csv"
    }
    """

    filename: Annotated[Telling, Field(max_length=limits.FILENAME_INPUT_CHARACTERS_MAX)]
    """Name without extension. Keeps letters, digits, spaces and `-_.`; drops folders."""
    content: Text
    """Content: text, or base64 (RFC 4648) for pdf, png and zip."""
    type: FileType
    """Type, which is also the extension."""


class CreatedFile(Message):
    """Answer of `POST /api/v7/tools/create-file`; also a file of a sandbox run."""

    status: Literal["created"] = "created"
    """Always `created`: the file is durable."""
    filename: str
    """Name with extension. Twelve hex digits make it unique."""
    url: str
    """Download path for keys of the account: `/download/` and the percent-encoded name."""
    size_bytes: Annotated[int, Field(ge=0)]
    """Size in bytes."""
    download_url: str
    """Signed download link: works without a key for anyone who has it."""
    expires_at: str
    """Expiry of `download_url` (RFC 3339, UTC). `url` does not expire."""
    detail: Detail = None


class DownloadQuery(Message):
    """Parameters of `GET /download/{filename}`: both come from `download_url`."""

    exp: Annotated[int | None, Field(ge=0, le=_LAST_SECOND)] = None
    """Expiry of the link, in seconds since 1970 (UTC)."""
    sig: Annotated[Text | None, Field(max_length=limits.ID_CHARACTERS_MAX)] = None
    """Signature of the link."""


# --- Messages about memory files: the commands of Anthropic's memory tool --------------------
# (`memory_20250818`), and older versions.
#
# Results and errors use the texts of the tool's documentation, because models were trained on them:
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool.

ROOT = "/memories"
Command = Literal["view", "create", "str_replace", "insert", "delete", "rename"]
NEEDED: dict[str, tuple[str, ...]] = {  # beside `command`
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
_ENCODED = re.compile(r"%(?:25)*(?:2e|2f|5c|00)", re.IGNORECASE)
# those that the compatibility forms do not list
_LIKE_SLASHES = "\u2044\u2215\u2216\u27cb\u27cd\u29f5\u29f8\u29f9\u2571\u2572"
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class InvalidMemoryPath(ValueError):
    """The path is not a valid path of a memory file; the message says why."""


def memory_path(text: str) -> str:
    """Return a path below /memories, or /memories itself, without a trailing slash, in NFC.

    So names that look the same are the same. Raises InvalidMemoryPath for paths that could escape
    the folder on a file system or that look like another path.
    """
    path = unicodedata.normalize("NFC", text).removesuffix("/")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidMemoryPath(f"Paths must start with {ROOT}/")
    names = path.split("/")[2:]
    if len(path) > limits.MEMORY_PATH_CHARACTERS_MAX or len(names) > limits.MEMORY_PATH_PARTS_MAX:
        characters, parts = limits.MEMORY_PATH_CHARACTERS_MAX, limits.MEMORY_PATH_PARTS_MAX
        most = f"{characters} characters and {parts} parts"
        raise InvalidMemoryPath(f"A path can have at most {most}")
    if mask_service_keys(path) != path:
        raise InvalidMemoryPath("Paths must not contain an API key")
    if _ENCODED.search(path):
        raise InvalidMemoryPath("Paths must not be percent-encoded")
    for name in names:
        _check(name)
    return path


def _check(name: str) -> None:
    plain = unicodedata.normalize("NFKC", name)
    if not plain.strip(". ") or name != name.strip():
        raise InvalidMemoryPath(
            "A name in a path must not be empty, only dots, or start or end with a space"
        )
    if set(plain) & {"/", "\\"} or set(name) & set(_LIKE_SLASHES):
        raise InvalidMemoryPath(
            "A name in a path must not contain a backslash or a look-alike of a slash"
        )
    if any(
        unicodedata.category(c) in _UNSEEN or (unicodedata.category(c) == "Zs" and c != " ")
        for c in name
    ):
        raise InvalidMemoryPath("A name in a path must contain only visible characters")


_Path = Annotated[Text, Field(max_length=limits.MEMORY_PATH_CHARACTERS_MAX)]
_Part = Annotated[Text, Field(max_length=limits.MEMORY_FILE_CHARACTERS_MAX)]


class FileCommand(Body):
    r"""Body of `POST /api/v7/memory/files`: the input of the memory tool as the model gave it.

    Example: {
      "command": "create",
      "path": "/memories/elba.md",
      "file_text": "# Elba\n- The ferry leaves Piombino at 9:40.\n"
    }
    """

    command: Command
    """Command."""
    path: _Path | None = None
    """Path of a file; for `view` and `delete` also of a folder."""
    view_range: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    """`view`: first and last line, from 1. -1 means the end of the file."""
    file_text: _Part | None = None
    """`create`: text of the file."""
    old_str: Annotated[_Part, Field(min_length=1)] | None = None
    """`str_replace`: text to replace. It must occur exactly once."""
    new_str: _Part | None = None
    """`str_replace`: the replacement."""
    insert_line: int | None = None
    """`insert`: line after which to insert; 0 is the beginning."""
    insert_text: _Part | None = None
    """`insert`: text to insert."""
    old_path: _Path | None = None
    """`rename`: path of the file or folder."""
    new_path: _Path | None = None
    """`rename`: new path."""
    user_id: Id | None = None
    """User whose files to use. Default: the user of the key."""

    @model_validator(mode="after")
    def _is_whole(self) -> FileCommand:
        for name in NEEDED[self.command]:
            if getattr(self, name) is None:
                raise Misfit(name, f"{self.command} needs {name}")
        return self


class FileDone(Message):
    """Answer of `POST /api/v7/memory/files`: the tool result for the model."""

    text: str
    """Text of the tool result."""
    is_error: bool
    """True if the command was rejected and nothing changed."""
    path: OrAbsent[str] = None
    """Normalised path; absent if the command was rejected."""
    version: OrAbsent[int] = None
    """Version of the file that was read or written."""
    flags: list[str]
    """Flags: `instruction_like`, `secret`."""
    noticed: OrAbsent[str] = None
    """Note on the flags, in one sentence."""


class FileQuery(Message):
    """Parameters of `GET /api/v7/memory/files`.

    Example: {"path": "/memories/elba.md"}
    """

    path: _Path = ROOT
    """Path of a file, or of a folder with all files below it."""
    version: Annotated[int | None, Field(ge=1, lt=1 << 31)] = None
    """Version whose text to return. Default: the newest."""
    below: RowNumber | None = None
    """`next` of the previous page."""
    user_id: Id | None = None
    """User whose files to use. Default: the user of the key."""


class FileVersion(Message):
    """One change of a path."""

    path: str
    """Path."""
    version: int
    """Version of this path, from 1."""
    change: Literal["create", "str_replace", "insert", "delete", "rename"]
    """Command that created the version."""
    other_path: OrAbsent[str] = None
    """For a rename: the other path."""
    is_gone: bool
    """True if the path has no file since: it was deleted or moved to `other_path`."""
    bytes: int
    """Size of the text in UTF-8 bytes."""
    flags: list[str]
    """Flags: `instruction_like`, `secret`."""
    created_at: str
    """Time of the change (RFC 3339, UTC)."""


class FileHistory(Message):
    """Answer of `GET /api/v7/memory/files`."""

    user_id: str
    """User of the files."""
    path: str
    """Path of the request, normalised."""
    version: OrAbsent[int] = None
    """Version of `text`; absent for a folder."""
    text: OrAbsent[str] = None
    """Complete text of that version; absent for a folder or a deleted file."""
    versions: list[FileVersion]
    """Changes of the path and below it, newest first."""
    next: int | None
    """Value of `below` for the next page; null on the last page."""
