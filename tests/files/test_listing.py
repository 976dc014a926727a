"""The list of an account's files."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from files.archives import png
from service import new_key

from remembrancer import testing
from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.files.files import (
    FileOwner,
    FileUnknown,
    create_file,
    erase_file,
    find_file,
    list_files,
    picture_size,
    store_file,
)
from remembrancer.protocol.files import FileCreate

PNG = png(640, 480)


@pytest.fixture
def context(folder: Path) -> Iterator[Context]:
    parts = testing.context(folder)
    yield replace(parts, settings=replace(parts.settings, account_bytes_max=100_000))
    parts.close()


@pytest.fixture
def owner(context: Context) -> Caller:
    """A caller of the first account, the owner."""
    return authenticate(context, new_key(context))


def make(
    context: Context, caller: Caller, name: str, content: str = "text", kind: str = "txt"
) -> str:
    return create_file(
        context,
        caller,
        FileCreate.model_validate({"filename": name, "content": content, "type": kind}),
    ).filename


def test_newest_file_is_first_with_its_author_and_source(context: Context, owner: Caller) -> None:
    first = make(context, owner, "one", "12345")
    left = FileOwner(account_id=owner.account_id, pinned_user_id=None, key_id=0, made_by="program")
    second = store_file(context, left, filename="plot", ext="png", content=PNG).filename
    page = list_files(context, owner)

    assert [
        (file.filename, file.made_by, file.key_id, file.key, file.size_bytes, file.ext)
        for file in page.files
    ] == [(second, "program", 0, None, len(PNG), "png"), (first, "file", 1, "for a test", 5, "txt")]
    assert (page.count, page.used_bytes, page.bytes_max, page.next) == (2, 8_192, 100_000, None)


def test_pages_continue_after_the_cursor(context: Context, owner: Caller) -> None:
    names = [make(context, owner, f"f{n}") for n in range(3)]
    first = list_files(context, owner, most=2)
    second = list_files(context, owner, first.next, most=2)

    assert [[file.filename for file in page.files] for page in (first, second)] == [
        [names[2], names[1]],
        [names[0]],
    ]
    assert second.next is None


def test_files_and_cursors_of_another_account_are_hidden(context: Context, owner: Caller) -> None:
    """Nothing of another account is readable (specification.md#api-other-accounts)."""
    ada = authenticate(context, new_key(context, "ada"))
    theirs = make(context, ada, "secret")

    assert list_files(context, owner).files == []
    assert list_files(context, owner).used_bytes == 0
    with pytest.raises(FileUnknown):
        list_files(context, owner, theirs)


def test_erased_file_frees_its_quota(context: Context, owner: Caller) -> None:
    erase_file(context, owner, make(context, owner, "one"))
    page = list_files(context, owner)

    assert (page.files, page.count, page.used_bytes) == ([], 0, 0)


def test_picture_size_is_read_from_the_png_header(context: Context, owner: Caller) -> None:
    picture = make(context, owner, "plot", base64.b64encode(PNG).decode(), "png")
    rows = [
        find_file(context, name, owner)
        for name in (
            picture,
            make(context, owner, "a", "12345"),
            make(context, owner, "b", "1" * 50),
        )
    ]

    assert [picture_size(context, row) for row in rows] == [(640, 480), None, None]
