"""The examples run as their pages show them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from house.conftest import Served
from house.tree import ROOT

from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read


def test_forty_turns_go_as_their_page_tells(served: Served, tmp_path: Path) -> None:
    """Issue: 'its transcript is a page of the docs, made by the docs test'. Where it differs, take the new one and read it."""
    records = open_records(read({"REMEMBRANCER_DATA": str(served.data)}))
    agent, *voters = [keys.create(records, account=f"forty-{n}").key.reveal() for n in range(4)]
    records.close()
    script = ROOT / "examples" / "forty_turns.py"
    environment = {**os.environ, "KEY": agent, "VOTERS": " ".join(voters)}

    done = subprocess.run(
        [sys.executable, str(script), served.url], env=environment, capture_output=True, text=True, check=False, timeout=120
    )

    made = tmp_path / "forty-turns.md"
    made.write_text(done.stdout, "utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "docs" / "guides" / "forty-turns.md").read_text("utf-8"), f"the new transcript is {made}"
