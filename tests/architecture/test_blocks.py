"""The block runner accepts valid blocks and reports invalid ones with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from architecture.blocks import DocumentationError, Runner, blocks


def fenced(language: str, text: str) -> str:
    """Return a fenced block."""
    return f"```{language}\n{text}\n```\n"


def response_page(printed: str, example: str) -> str:
    """Return a page with a command that prints JSON and the response shown for it."""
    return (
        fenced("sh", f"echo '{printed}'") + "\nprose\n\n" + fenced('json title="Response"', example)
    )


def run(folder: Path, page: str) -> None:
    """Run the blocks of a page that needs no server."""
    runner = Runner(folder, url="http://127.0.0.1:1", key="sk_none", data=folder)
    for block in blocks(page, "page.md"):
        runner.run(block)


@pytest.mark.parametrize(
    "page",
    [
        response_page(
            '{"saved": true, "step": 7, "hits": [{"id": "a"}]}',
            '{"hits": [{"id": "b"}], "saved": false, "step": 1}',
        ),
        response_page('{"why": [{"rank": 1}, {}]}', '{"why": [{"rank": 3}]}'),
        fenced(
            "sh",
            "git clone ADDRESS here && cd here\nmake run PORT=9000\nsudo apt-get install -y"
            " curl\nexport KEY=sk_...",
        ),
        fenced(
            "sh",
            'test "$KEY" = sk_none\ntest http://127.0.0.1:8460 = "$URL"  # the address is the'
            " real one",
        ),
        fenced("sh", "echo one \\\n  two"),
        fenced('jsonl title="turns.jsonl"', '{"query": "a"}')
        + fenced("sh", "grep -q query turns.jsonl"),
        fenced("python", "import os\nassert os.environ['URL'] == 'http://127.0.0.1:8460'"),
        fenced("toml", "port = 9000"),
        fenced("sql", "-- names: who there is\nselect name from accounts where id = :id;"),
        fenced("text", "anything"),
        "<!-- not run: it would remove the disk -->\n" + fenced("sh", "exit 1"),
        "no block\n",
    ],
)
def test_valid_block_passes(tmp_path: Path, page: str) -> None:
    run(tmp_path, page)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("text\n\n" + fenced("sh", "exit 3"), "page.md:3: DocumentationError: exit status 3"),
        (fenced("sh", "false | true"), "exit status 1"),
        (
            response_page('{"saved": true}', '{"kept": true}'),
            "/kept is shown but missing; /saved is present but not shown",
        ),
        (
            response_page('{"hits": [{"id": 1}]}', '{"hits": [{"id": "1"}]}'),
            "/hits/*/id is number, not string",
        ),
        (response_page('{"hits": []}', '{"hits": [1]}'), "/hits is empty"),
        (response_page('{"ok": true}', '{"ok": 1}'), "/ok is boolean, not number"),
        (fenced('json title="Response"', "{}"), "no `sh` block"),
        (fenced("sh", "make coffee"), "`make coffee` does not exist in this project"),
        (fenced("sh", "git clone ADDRESS && rm -rf x"), "`rm -rf x` does not exist"),
        (fenced("json", "{"), "JSONDecodeError"),
        (fenced('jsonl title="a"', "{}\n{"), "JSONDecodeError"),
        (fenced("python", "raise SystemExit(4)"), "exit status 4"),
        (fenced("toml", "prot = 9000"), "there is no setting `prot`"),
        (
            fenced("sql", "-- names: who there is\nselect nome from accounts;"),
            "no such column: nome",
        ),
        (fenced("", "x"), "needs a known language"),
        (fenced("cobol", "x"), "not 'cobol'"),
        (fenced("json answer", "{}"), "at most title="),
        ("- item\n  ```sh\n  true\n  ```\n", "2 fences, but 0 blocks"),
        ("```sh\ntrue\n", "1 fences, but 0 blocks"),
    ],
)
def test_invalid_block_is_reported_with_file_and_line(
    tmp_path: Path, page: str, expected: str
) -> None:
    with pytest.raises(DocumentationError) as raised:
        run(tmp_path, page)

    assert expected in str(raised.value)
