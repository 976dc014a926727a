"""Files that an agent keeps for itself under /memories: the commands of Anthropic's memory tool
(`memory_20250818`), and older versions.

Texts of results and refusals are those that the tool's documentation gives, for models were trained
on them: https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from . import limits
from .message import ABSENT_IF_NONE, Id, Message, Misfit, example
from .text import Text

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
# those that compatibility forms do not tell of
_LIKE_SLASHES = "\u2044\u2215\u2216\u27cb\u27cd\u29f5\u29f8\u29f9\u2571\u2572"
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class InvalidMemoryPath(ValueError):
    """This is no path of a memory file; the text says why."""


def memory_path(text: str) -> str:
    """A path below /memories, or that itself, without a slash at its end and composed (NFC): names
    that look the same are the same.

    Raises PathUnfit for whatever could lead elsewhere if the files lay on a disk, or look like a
    path that it is not.
    """
    path = unicodedata.normalize("NFC", text).removesuffix("/")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidMemoryPath(f"Paths begin with {ROOT}/")
    names = path.split("/")[2:]
    if len(path) > limits.MEMORY_PATH_CHARACTERS_MAX or len(names) > limits.MEMORY_PATH_PARTS_MAX:
        most = f"{limits.MEMORY_PATH_CHARACTERS_MAX} characters and {limits.MEMORY_PATH_PARTS_MAX} parts"
        raise InvalidMemoryPath(f"A path has at most {most}")
    if _ENCODED.search(path):
        raise InvalidMemoryPath("Paths are not percent-encoded")
    for name in names:
        _check(name)
    return path


def _check(name: str) -> None:
    plain = unicodedata.normalize("NFKC", name)
    if not plain.strip(". ") or name != name.strip():
        raise InvalidMemoryPath(
            "A name in a path is not empty, not only dots, and has no space at its ends"
        )
    if set(plain) & {"/", "\\"} or set(name) & set(_LIKE_SLASHES):
        raise InvalidMemoryPath(
            "A name in a path has no backslash, and nothing that looks like a slash"
        )
    if any(
        unicodedata.category(c) in _UNSEEN or (unicodedata.category(c) == "Zs" and c != " ")
        for c in name
    ):
        raise InvalidMemoryPath("A name in a path has only characters that can be seen")


_Path = Annotated[Text, Field(max_length=limits.MEMORY_PATH_CHARACTERS_MAX)]
_Part = Annotated[Text, Field(max_length=limits.MEMORY_FILE_CHARACTERS_MAX)]


def _rules() -> list[dict[str, Any]]:
    """What each command needs, for the schema."""
    return [
        {
            "if": {"properties": {"command": {"const": command}}, "required": ["command"]},
            "then": {
                "required": list(needed),
                "properties": {name: {"not": {"type": "null"}} for name in needed},
            },
        }
        for command, needed in NEEDED.items()
    ]


class FileCommand(Message):
    """Body of `POST /api/v7/memory/files`: the input of the memory tool as the model gave it."""

    model_config = example(
        {
            "command": "create",
            "path": "/memories/elba.md",
            "file_text": "# Elba\n- The ferry leaves Piombino at 9:40.\n",
        },
        allOf=_rules(),
    )

    command: Annotated[Command, Field(description="What to do.")]
    path: Annotated[
        _Path | None, Field(description="The file; for `view` and `delete` also a folder.")
    ] = None
    view_range: Annotated[
        Annotated[list[int], Field(min_length=2, max_length=2)] | None,
        Field(
            description="`view`: the first and last line to show, from 1; -1 is the end of the file."
        ),
    ] = None
    file_text: Annotated[_Part | None, Field(description="`create`: all of the file.")] = None
    old_str: Annotated[
        Annotated[_Part, Field(min_length=1)] | None,
        Field(description="`str_replace`: what stands there, exactly once."),
    ] = None
    new_str: Annotated[
        _Part | None, Field(description="`str_replace`: what is to stand there.")
    ] = None
    insert_line: Annotated[
        int | None, Field(description="`insert`: after which line; 0 is the beginning.")
    ] = None
    insert_text: Annotated[_Part | None, Field(description="`insert`: what to insert.")] = None
    old_path: Annotated[_Path | None, Field(description="`rename`: the file or folder.")] = None
    new_path: Annotated[_Path | None, Field(description="`rename`: its new path.")] = None
    user_id: Annotated[Id | None, Field(description="Whose files. Default: the key's own.")] = None

    @model_validator(mode="after")
    def _is_whole(self) -> FileCommand:
        for name in NEEDED[self.command]:
            if getattr(self, name) is None:
                raise Misfit(name, f"{self.command} needs {name}")
        return self


class FileDone(Message):
    """Answer of `POST /api/v7/memory/files`:

    what the model is to read as the result of its call.
    """

    text: Annotated[str, Field(description="The result of the tool, word for word.")]
    is_error: Annotated[bool, Field(description="Whether it was refused: nothing was changed.")]
    path: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The path as it is kept; absent when it was refused."),
    ] = None
    version: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="The version of one file that was shown or made."),
    ] = None
    flags: Annotated[
        list[str], Field(description="What was noticed in it: `instruction_like`, `secret`.")
    ]
    noticed: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="What was noticed, in a sentence.")
    ] = None


class FileQuery(Message):
    """Parameters of `GET /api/v7/memory/files`."""

    model_config = example({"path": "/memories/elba.md"})

    path: Annotated[_Path, Field(description="A file, or a folder with all below it.")] = ROOT
    version: Annotated[
        int | None,
        Field(
            ge=1,
            lt=1 << 31,
            description="The version of the file whose text is read. Default: the newest.",
        ),
    ] = None
    below: Annotated[
        int | None, Field(ge=1, lt=1 << 62, description="`next` of the page before.")
    ] = None
    user_id: Annotated[Id | None, Field(description="Whose files. Default: the key's own.")] = None


class FileVersion(Message):
    """One change of one path."""

    path: Annotated[str, Field(description="Where.")]
    version: Annotated[int, Field(description="Which version of this path, from 1.")]
    change: Annotated[
        Literal["create", "str_replace", "insert", "delete", "rename"],
        Field(description="What made it."),
    ]
    other_path: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Of a rename: where it came from, or went to."),
    ] = None
    is_gone: Annotated[
        bool,
        Field(
            description="Whether nothing is at the path since: it was deleted, or went to `other_path`."
        ),
    ]
    bytes: Annotated[int, Field(description="How large its text is, in UTF-8.")]
    flags: Annotated[
        list[str], Field(description="What was noticed in it: `instruction_like`, `secret`.")
    ]
    created_at: Annotated[str, Field(description="When it was made (RFC 3339, UTC).")]


class FileHistory(Message):
    """Answer of `GET /api/v7/memory/files`."""

    user_id: Annotated[str, Field(description="Whose files.")]
    path: Annotated[str, Field(description="The path that was asked for, as it is kept.")]
    version: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="The version whose text this is; absent for a folder."),
    ] = None
    text: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="All of that version; absent for a folder and where it is gone."),
    ] = None
    versions: Annotated[
        list[FileVersion], Field(description="Changes at the path and below it, newest first.")
    ]
    next: Annotated[
        int | None,
        Field(description="Send it as `below` for the page that follows; null after the last."),
    ]
