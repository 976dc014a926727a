"""One filter selects the same turns and facts by every way in: HTTP, MCP, client, command, console.

See specification.md#search-filters.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from command import Cli
from service import Http, new_key, serving
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.client import Client
from remembrancer.context import Context

WORDS = ("acorn", "birch", "cedar")
METADATA: tuple[dict[str, Any], ...] = (
    {"project": "house", "priority": 1, "tags": ["wood", "old"]},
    {"project": "garden", "priority": 2, "open": True},
    {},
)
TREES = ", ".join(f"The {word} is tall." for word in WORDS)
# Every operator, and every combination, with the words of what passes.
FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"project": "house"}, "acorn"),
    ({"project": {"ne": "house"}}, "birch cedar"),
    ({"project": {"in": ["house", "garden"]}}, "acorn birch"),
    ({"project": {"nin": ["house"]}}, "birch cedar"),
    ({"priority": {"gt": 1}}, "birch"),
    ({"priority": {"gte": 1}}, "acorn birch"),
    ({"priority": {"lt": 2}}, "acorn"),
    ({"priority": {"lte": 2}}, "acorn birch"),
    ({"tags": {"contains": "wood"}}, "acorn"),
    ({"project": {"contains": "ous"}}, "acorn"),
    ({"open": {"exists": True}}, "birch"),
    ({"open": {"exists": False}}, "acorn cedar"),
    ({"and": [{"priority": {"gte": 1}}, {"open": True}]}, "birch"),
    ({"or": [{"open": True}, {"tags": "old"}]}, "acorn birch"),
    ({"not": {"project": "house"}}, "birch cedar"),
    ({"project": "attic"}, ""),
]


class Everywhere:
    """A service with three turns and three facts, and every way in to it."""

    def __init__(self, http: Http, client: Client, cli: Cli, folder: Path) -> None:
        self.http, self.client, self.cli, self.folder = http, client, cli, folder
        for word, metadata in zip(WORDS, METADATA, strict=True):
            http.remember(f"The {word} is tall.", "Noted.", user_id="ada", metadata=metadata)
            fact = {"user_id": "ada", "text": f"The {word} tree is green.", "metadata": metadata}
            assert http.post("/api/v7/memory/facts", fact).status_code == 200

    def tool(self, name: str, **arguments: Any) -> str:
        """Return the answer of a tool of MCP."""
        call = {"name": name, "arguments": {**arguments, "user_id": "ada"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"Accept": "application/json, text/event-stream"}
        result = self.http.post("/mcp", body, headers=headers).json()["result"]
        assert not result.get("isError"), result
        return "\n".join(part["text"] for part in result["content"])

    def command(self, *words: str) -> str:
        """Return what a command prints."""
        process = self.cli(*words, "--user-id", "ada")
        assert process.returncode == 0, process.stderr
        return process.stdout

    def export(self, chosen: str) -> str:
        """Return the turns and facts of an export of the command line."""
        path = self.folder / "out.zip"
        self.command("export", str(path), "--force", "--filter", chosen, "--data", str(self.folder))
        with zipfile.ZipFile(path) as archive:
            return "".join(archive.read(name).decode() for name in ("events.jsonl", "facts.jsonl"))


WAYS: dict[str, Callable[[Everywhere, dict[str, Any]], str]] = {
    "HTTP search": lambda on, f: str(
        on.http.memory(TREES, "ada", filters=f, top_k=100, interact=False)["hits"]
    ),
    "HTTP events": lambda on, f: (
        on.http.get("/api/v7/events", params={"user_id": "ada", "filters": json.dumps(f)}).text
    ),
    "HTTP facts": lambda on, f: (
        on.http.get(
            "/api/v7/memory/facts", params={"user_id": "ada", "filters": json.dumps(f)}
        ).text
    ),
    "MCP recall": lambda on, f: on.tool("recall", query_text=TREES, filters=f, top_k=10),
    "MCP list_facts": lambda on, f: on.tool("list_facts", filters=f),
    "client search": lambda on, f: str(
        [one.text for one in on.client.search(TREES, user_id="ada", filters=f, top_k=10)]
    ),
    "client get_all": lambda on, f: str(on.client.get_all(user_id="ada", filters=f)),
    "client facts": lambda on, f: str([*on.client.facts(user_id="ada", filters=f)]),
    "command search": lambda on, f: on.command("search", TREES, "--filter", json.dumps(f)),
    "command facts": lambda on, f: on.command("facts", "--filter", json.dumps(f)),
    "command export": lambda on, f: on.export(json.dumps(f)),
}


@pytest.fixture
def everywhere(app: Starlette, context: Context, folder: Path) -> Iterator[Everywhere]:
    """Serve it over a socket to all of them."""
    key = new_key(context)
    with serving(app) as port:
        url = f"http://127.0.0.1:{port}"
        cli = Cli(folder)
        cli.environment |= {"REMEMBRANCER_URL": url, "REMEMBRANCER_KEY": key}
        with Client(url, key) as client, httpx2.Client(base_url=url, timeout=60) as plain:
            yield Everywhere(Http(cast(TestClient, plain), context, key), client, cli, folder)


def test_one_filter_selects_the_same_by_every_way_in(everywhere: Everywhere) -> None:
    for filters, words in FILTERS:
        for way, read in WAYS.items():
            answer = read(everywhere, filters)
            assert " ".join(w for w in WORDS if w in answer.replace(TREES, "")) == words, (
                way,
                filters,
            )


@pytest.mark.parametrize("way", ["HTTP", "MCP", "client", "command"])
def test_forgetting_takes_a_filter_by_every_way_in(everywhere: Everywhere, way: str) -> None:
    filters = {"project": {"in": ["house", "garden"]}}
    if way == "HTTP":
        everywhere.http.post("/api/v7/memory/forget", {"user_id": "ada", "filters": filters})
    elif way == "MCP":
        everywhere.tool("forget", filters=filters)
    elif way == "client":
        everywhere.client.delete_all(user_id="ada", filters=filters)
    else:
        everywhere.command("forget", "--filter", json.dumps(filters), "--yes")

    for way_in in ("HTTP events", "HTTP facts"):
        left = WAYS[way_in](everywhere, {"not": {"project": "attic"}})
        assert [word for word in WORDS if word in left] == ["cedar"]
