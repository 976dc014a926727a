"""The generated parts of docs/reference are up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_pages_are_up_to_date() -> None:
    """Run `python docs/generate.py` when this fails."""
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]

    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
