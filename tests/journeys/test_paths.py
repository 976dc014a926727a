"""Paths of whole afternoons, each from its beginning to its end.

That of the console with the keyboard alone is in `tests/console/test_keyboard.py`.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import urllib.request
from pathlib import Path

from architecture.blocks import blocks
from command import Cli, rows_of
from engines import empty_store
from journeys.clones import NOTHING_INSTALLED, clone_of, run_as, served, user_of

from remembrancer.testing.servers import Server


def signed_in(home: Path, server: Server) -> Cli:
    """Return a command line whose home has the key of a running service."""
    cli = Cli(home / "data", EMBEDDER="none")
    cli.environment |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    key = cli("keys create --account owner").stdout.splitlines()[-1]
    login = cli(f"login --url http://127.0.0.1:{server.port}", stdin=key)
    assert login.returncode == 0, login.stderr
    return cli


def test_fresh_clone_with_the_readme_only(tmp_path: Path) -> None:
    """`make run` in a clone, the key that it prints, and the Python of the README."""
    clone = clone_of(tmp_path)
    user = user_of(tmp_path, PYTHONPATH=str(clone / "src"))
    with served(shlex.join(["make", *NOTHING_INSTALLED, "run"]), clone, user) as service:
        [console] = re.findall(r"(?m)^Console: (\S+)$", service.output)
        [login] = re.findall(r"(?m)^1\. .*?: (.*)$", service.output)
        run_as(user, login, input=service.key)
        page = urllib.request.urlopen(console).read().decode()  # noqa: S310  our own
        readme = blocks((clone / "README.md").read_text("utf-8"), "README.md")
        program, shown = next(
            (one.text, readme[n + 1].text)
            for n, one in enumerate(readme)
            if one.language == "python"
        )
        answer = run_as(user, shlex.join([sys.executable, "-c", program]))

    assert "Sign in" in page
    assert answer == shown


def test_import_correct_delete_and_filter(tmp_path: Path) -> None:
    turns = [
        {"query": "Where is the saw?", "response": "In the shed.", "metadata": {"place": "garden"}},
        {
            "query": "Where is the axe?",
            "response": "In the cellar.",
            "metadata": {"place": "house"},
        },
    ]
    (file := tmp_path / "turns.jsonl").write_text("\n".join(map(json.dumps, turns)), "utf-8")
    with Server(tmp_path / "data", REMEMBRANCER_EMBEDDER="none") as server:
        cli = signed_in(tmp_path, server)
        assert "2" in cli("import", str(file), "--user-id", "mia").stdout
        in_house = cli.table("search", "where is it", "--user-id", "mia", "--filter", "place=house")
        cli("facts add", "The axe is at Tom's.", "--user-id", "mia")
        corrected = cli("search", "where is the axe", "--user-id", "mia").stdout
        deleted = cli("delete", in_house[0]["id"])
        left = cli("search", "where is the axe", "--user-id", "mia").stdout

    assert [("axe" in row["text"]) for row in in_house] == [True], in_house
    assert "The axe is at Tom's." in corrected
    assert deleted.returncode == 0
    assert ("In the cellar." in left, "The axe is at Tom's." in left) == (False, True)


def test_install_doctor_and_remove(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(before := '{"model": "opus"}\n', "utf-8")
    with Server(tmp_path / "data", REMEMBRANCER_EMBEDDER="none") as server:
        cli = signed_in(tmp_path, server)
        installed = cli("install claude-code --yes")
        with_hooks = settings.read_text("utf-8")
        doctor = cli("doctor")
        removed = cli("install claude-code --remove --yes")

    assert (installed.returncode, removed.returncode) == (0, 0), removed.stderr
    assert "remembrancer_hook" in with_hooks
    states = {row["part"]: row["state"] for row in rows_of(doctor)}
    assert {states[part] for part in states if "claude" in part.lower()} == {"ok"}, states
    assert settings.read_text("utf-8") == before


def test_postgresql_backup_and_restore_into_sqlite(tmp_path: Path) -> None:
    (data := tmp_path / "data").mkdir(mode=0o700)
    served = {"EMBEDDER": "none", "STORE": empty_store("postgresql", tmp_path)}
    with Server(data, **{f"REMEMBRANCER_{name}": text for name, text in served.items()}) as server:
        cli = Cli(data, **served)
        key = cli("keys create --account owner").stdout.splitlines()[-1]
        turn = {"query": "Where is the saw?", "response": "In the shed."}
        assert server.post("/api/v7/remember", turn, key=key).status == 200
        assert cli("backup", str(tmp_path / "backup")).returncode == 0
    restored = Cli(tmp_path / "new", EMBEDDER="none")("restore", str(tmp_path / "backup"))
    assert restored.returncode == 0, restored.stderr
    with Server(tmp_path / "new", REMEMBRANCER_EMBEDDER="none") as server:
        question = {"query_text": "saw", "user_id": "owner"}
        [hit] = server.post("/api/v7/memory", question, key=key).body["hits"]

    assert hit["response"] == "In the shed."
