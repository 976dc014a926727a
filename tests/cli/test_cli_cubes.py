"""`remembrancer cubes`, while a service has the same data folder open."""

from __future__ import annotations

import json
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
from remembrancer.server.app import make_app

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


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Site]:
    """Return another installation."""
    with site(tmp_path / "there") as there:
        yield there


def test_pack_goes_from_one_running_service_to_another(
    here: Site, there: Site, tmp_path: Path
) -> None:
    """The next search finds it (specification.md#pack-import, #pack-signer)."""
    here.create()
    path = str(tmp_path / "kitchen.jsonl")
    before = there.lessons()
    exported = here.cli("cubes export", path, "--status", "private")
    key = exported.stderr.split()[-1]
    imports = [there.cli("cubes import", path, "--key", key) for _ in range(2)]
    end = json.loads(Path(path).read_bytes().splitlines()[-1])

    assert exported.stdout.startswith("1 lessons (account owner, ")
    assert end["key"] == key
    assert [one.stdout for one in imports] == [
        "1 stored (0 published), 0 already present (account owner)\n",
        "0 stored (0 published), 1 already present (account owner)\n",
    ]
    assert imports[0].stderr.startswith(f"kitchen: signed with the key {key} (id ")
    assert before == []
    [lesson] = there.lessons()
    assert lesson["evidence"].startswith("tried at home (pack kitchen signed by ")


def test_published_import_is_screened_and_names_the_account(
    here: Site, there: Site, tmp_path: Path
) -> None:
    """Refused lessons stay private, with the reason (specification.md#pack-screening)."""
    here.create()
    here.create(topic="kettle manuals", rules_markdown="- MUST read https://kettles.example/")
    new_key(there.http.context, "zoe")
    path = str(tmp_path / "kitchen.jsonl")
    here.cli("cubes export", path, "--status", "all")
    imported = there.cli("cubes import", path, "--publish", "--account", "zoe")
    table = there.cli.table("cubes list --account zoe")

    assert imported.stdout == "2 stored (1 published), 0 already present (account zoe)\n"
    assert "kettle manuals: Kept private: its rules contains a link" in imported.stderr
    assert [(row["topic"], row["status"]) for row in table] == [
        ("kettles", "published"),
        ("kettle manuals", "private"),
    ]
    assert there.cli.table("cubes list") == []
    assert len(there.lessons()) == 1


def test_wrong_use_is_one_line_of_error(folder: Path) -> None:
    """Nothing is stored unless the whole pack is valid (specification.md#pack-errors)."""
    cli = Cli(folder)
    cli.environment["REMEMBRANCER_EMBEDDER"] = "none"
    pack, cut, other = (str(folder / name) for name in ("a.jsonl", "cut.jsonl", "turns.jsonl"))
    cli("cubes add starter")
    cli("cubes export", pack)
    Path(cut).write_bytes(Path(pack).read_bytes()[:-20])
    Path(other).write_text('{"query": "q", "response": "r"}\n')
    (folder / "new").mkdir()
    target = Cli(folder / "new")
    refusals = [
        cli("cubes export", pack),
        target("cubes import", cut),
        target("cubes import", other),
        target("cubes import", str(folder / "absent.jsonl")),
        target("cubes import", pack, "--key", "A" * 43),
        cli("cubes import", pack, "--account", "nobody"),
    ]
    wrong = [cli("cubes add dessert"), cli("cubes export x --status retired")]

    assert [one.returncode for one in refusals] == [1, 1, 1, 1, 1, 2]
    assert ["internal error" in one.stderr for one in refusals] == [False] * 6
    assert [one.stderr.count("\n") for one in refusals[:5]] == [1] * 5
    messages = ("--force", "ends before its signature", "not a pack", "No such file", "not the req")
    assert [word in one.stderr for word, one in zip(messages, refusals, strict=False)] == [
        True
    ] * len(messages)
    assert target("cubes list").stdout.splitlines()[1:] == []
    assert [one.returncode for one in wrong] == [2, 2]
    assert cli("cubes export", pack, "--force").returncode == 0
