"""`remembrancer cubes` as separate processes, while a real server serves the same data folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Cli
from engines import KEPT_IN, of_folder

from remembrancer.cubes.starter import load_starter
from remembrancer.testing.servers import Server

COUNT = len(load_starter())
LESSON = {
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "rules_markdown": "- MUST boil one part vinegar with two parts water.",
    "evidence": "tried at home",
}
QUESTION = {"query_text": "How is a kettle descaled with vinegar?", "user_id": "ada"}


class Site:
    """One installation: a server, its command line and the key of an account."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self.cli = Cli(folder)
        self.cli.environment["REMEMBRANCER_EMBEDDER"] = "none"
        self.key = self.new_key("owner")
        store = {"REMEMBRANCER_STORE": of_folder(folder)} if KEPT_IN == "postgresql" else {}
        self.server = Server(folder, REMEMBRANCER_EMBEDDER="none", **store)

    def new_key(self, account: str) -> str:
        """Return a new key of an account."""
        return self.cli("keys", "create", "--account", account).stdout.strip().splitlines()[-1]

    def create(self, **changed: str) -> None:
        """Create a lesson through the server."""
        body = {**LESSON, **changed}
        answer = self.server.post("/api/v7/experience/create", body, key=self.key)
        assert answer.status == 200, answer.body

    def evidence(self) -> list[str]:
        """Return the evidence of the lessons that the server finds for the question."""
        answer = self.server.post("/api/v7/memory", QUESTION, key=self.key)
        assert answer.status == 200, answer.body
        return [one["evidence"] for one in answer.body["shared_cubes"]]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    """Return an installation whose server is running."""
    site = Site(tmp_path / "here")
    with site.server:
        yield site


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Site]:
    """Return another installation."""
    site = Site(tmp_path / "there")
    with site.server:
        yield site


def test_pack_goes_from_one_running_service_to_another(
    here: Site, there: Site, tmp_path: Path
) -> None:
    """The next search finds it (specification.md#pack-import, #pack-signer)."""
    here.create()
    path = str(tmp_path / "kitchen.jsonl")
    before = there.evidence()
    exported = here.cli("cubes", "export", path, "--status", "private")
    key = exported.stderr.split()[-1]
    imports = [there.cli("cubes", "import", path, "--key", key) for _ in range(2)]
    end = json.loads(Path(path).read_bytes().splitlines()[-1])

    assert exported.stdout.startswith("1 lessons (account owner, ")
    assert end["key"] == key
    assert [one.stdout for one in imports] == [
        "1 stored (0 published), 0 already present (account owner)\n",
        "0 stored (0 published), 1 already present (account owner)\n",
    ]
    assert imports[0].stderr.startswith(f"kitchen: signed with the key {key} (id ")
    assert before == []
    assert [one.partition(" signed by ")[0] for one in there.evidence()] == [
        "tried at home (pack kitchen"
    ]


def test_published_import_is_screened_and_names_the_account(
    here: Site, there: Site, tmp_path: Path
) -> None:
    """Refused lessons stay private, with the reason (specification.md#pack-screening)."""
    here.create()
    here.create(topic="kettle manuals", rules_markdown="- MUST read https://kettles.example/")
    there.new_key("zoe")
    path = str(tmp_path / "kitchen.jsonl")
    here.cli("cubes", "export", path, "--status", "all")
    imported = there.cli("cubes", "import", path, "--publish", "--account", "zoe")
    table = there.cli.table("cubes", "list", "--account", "zoe")

    assert imported.stdout == "2 stored (1 published), 0 already present (account zoe)\n"
    assert "kettle manuals: Kept private: its rules contains a link" in imported.stderr
    assert [(row["topic"], row["status"]) for row in table] == [
        ("kettles", "published"),
        ("kettle manuals", "private"),
    ]
    assert there.cli.table("cubes", "list") == []
    assert len(there.evidence()) == 1


def test_starter_pack_is_added_once_to_a_running_service(here: Site) -> None:
    """It belongs to the owner by default (specification.md#pack-starter)."""
    first, again = (here.cli("cubes", "add", "starter") for _ in range(2))
    body = {"query_text": "decoding base64 of web tokens", "user_id": "ada"}
    answer = here.server.post("/api/v7/memory", body, key=here.new_key("zoe"))

    assert [one.stdout for one in (first, again)] == [
        f"{COUNT} stored ({COUNT} published), 0 already present (account owner)\n",
        f"0 stored (0 published), {COUNT} already present (account owner)\n",
    ]
    assert answer.body["shared_cubes"][0]["topic"] == "decoding base64 of tokens"
    assert answer.body["shared_cubes"][0]["evidence"] == "reproduced in the sandbox"


def test_wrong_use_is_one_line_of_error(folder: Path) -> None:
    """Nothing is stored unless the whole pack is valid (specification.md#pack-errors)."""
    cli = Cli(folder)
    cli.environment["REMEMBRANCER_EMBEDDER"] = "none"
    pack, cut, other = (str(folder / name) for name in ("a.jsonl", "cut.jsonl", "turns.jsonl"))
    cli("cubes", "add", "starter")
    cli("cubes", "export", pack)
    Path(cut).write_bytes(Path(pack).read_bytes()[:-20])
    Path(other).write_text('{"query": "q", "response": "r"}\n')
    (folder / "new").mkdir()
    target = Cli(folder / "new")
    refusals = [
        cli("cubes", "export", pack),
        target("cubes", "import", cut),
        target("cubes", "import", other),
        target("cubes", "import", str(folder / "absent.jsonl")),
        target("cubes", "import", pack, "--key", "A" * 43),
        cli("cubes", "import", pack, "--account", "nobody"),
    ]
    wrong = [cli("cubes", "add", "dessert"), cli("cubes", "export", "x", "--status", "retired")]

    assert [one.returncode for one in refusals] == [1, 1, 1, 1, 1, 2]
    assert ["internal error" in one.stderr for one in refusals] == [False] * 6
    assert [one.stderr.count("\n") for one in refusals[:5]] == [1] * 5
    messages = ("--force", "ends before its signature", "not a pack", "No such file", "not the req")
    assert [word in one.stderr for word, one in zip(messages, refusals, strict=False)] == [
        True
    ] * len(messages)
    assert target("cubes", "list").stdout.splitlines()[1:] == []
    assert [one.returncode for one in wrong] == [2, 2]
    assert cli("cubes", "export", pack, "--force").returncode == 0
