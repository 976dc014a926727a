"""`remembrancer cubes`, while a service has the same data folder open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command import Cli
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.cubes.starter import load_starter
from remembrancer.server.app import make_app

COUNT = len(load_starter())
LESSON = {
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "rules_markdown": "- MUST boil one part vinegar with two parts water.",
    "evidence": "tried at home",
}
QUESTION = "How is a kettle descaled with vinegar?"


@dataclass(frozen=True, slots=True)
class Site:
    """One installation: its command line, and a client of its service."""

    cli: Cli
    http: Http

    def create(self, **changed: str) -> None:
        """Create a lesson through the service."""
        answer = self.http.post("/api/v7/experience/create", {**LESSON, **changed})
        assert answer.status_code == 200, answer.text

    def lessons(self, question: str = QUESTION) -> list[dict[str, Any]]:
        """Return the lessons that the service finds for a question of the user ada."""
        return list(self.http.memory(question, user_id="ada")["shared_cubes"])


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """Yield an installation on a new data folder."""
    folder.mkdir(mode=0o700)
    with (
        closing(testing.context(folder)) as context,
        TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client,
    ):
        yield Site(Cli(folder, EMBEDDER="none"), Http(client, context, new_key(context)))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    """Return an installation."""
    with site(tmp_path / "here") as here:
        yield here


def test_starter_pack_is_added_once_to_a_running_service(here: Site) -> None:
    """It belongs to the owner by default (specification.md#pack-starter)."""
    first, again = (here.cli("cubes add starter") for _ in range(2))
    zoe = Site(here.cli, here.http.as_account("zoe"))
    lesson = zoe.lessons("decoding base64 of web tokens")[0]

    assert [one.stdout for one in (first, again)] == [
        f"{COUNT} stored ({COUNT} published), 0 already present (account owner)\n",
        f"0 stored (0 published), {COUNT} already present (account owner)\n",
    ]
    assert lesson["topic"] == "decoding base64 of tokens"
    assert lesson["evidence"] == "reproduced in the sandbox"


def test_list_has_the_lessons_of_the_account(here: Site) -> None:
    """One row a lesson, with its votes and outcomes."""
    here.create()
    new_key(here.http.context, "zoe")

    [row] = here.cli.table("cubes list")
    assert (row["status"], row["kind"], row["topic"]) == ("private", "fact", "kettles")
    assert [row[name] for name in ("useful", "useless", "helped", "failed")] == ["0"] * 4
    assert here.cli.table("cubes list --account zoe") == []
    assert here.cli("cubes add dessert").returncode == 2
