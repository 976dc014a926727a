"""docs/guides/import.md, "From Letta": its commands, against what Letta's API answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import needed
import pytest
from architecture.blocks import blocks
from architecture.tree import ROOT
from command import Cli
from journeys.clones import run_as

SAMPLES = ROOT / "tests" / "memory" / "exchange" / "samples" / "letta-server"
LISTS = {
    "core-memory/blocks": "blocks.json",
    "archival-memory": "passages.json",
    "messages": "sam.json",
}


class Letta(BaseHTTPRequestHandler):
    """The lists of the agent AGENT; as in Letta, the newest is first unless `order` is asc."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        rows = json.loads(
            (SAMPLES / LISTS[address.path.removeprefix("/v1/agents/AGENT/")]).read_text()
        )
        if query.get("order") == ["asc"]:
            rows.sort(key=lambda row: row["date"])
        body = json.dumps(rows[: int(query["limit"][0])]).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def letta() -> Iterator[str]:
    """Serve the lists; return the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Letta) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_commands_of_the_guide_bring_an_agent_over(letta: str, tmp_path: Path) -> None:
    needed.program("curl", "curl")
    page = (ROOT / "docs" / "guides" / "import.md").read_text("utf-8")
    [recipe] = [one.text for one in blocks(page, "import.md") if one.title == "Letta"]
    *commands, command = recipe.replace("http://127.0.0.1:8283", letta).splitlines()
    cli = Cli(tmp_path / "data", EMBEDDER="none")
    run_as(cli.environment, "\n".join(commands), cwd=tmp_path)
    name, sam, *options = command.removeprefix("remembrancer ").split()
    imported = cli(name, str(tmp_path / sam), *options)

    assert imported.returncode == 0, imported.stderr
    counts, left_out, *_ = imported.stdout.splitlines()
    assert counts == "5 stored (facts: 3), 0 already present (account owner)"
    assert left_out.startswith("  left out  9: image, audio or file 1, metadata that is no text")
    assert f"{tmp_path / sam}/blocks.json, record 3: template" in imported.stdout
