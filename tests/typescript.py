"""The TypeScript client with its types, as `make typescript` packs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from architecture.tree import ROOT

CLIENT = ROOT / "clients" / "typescript"


def client_with_types(folder: Path) -> Path:
    """Write the client into a folder that does not exist yet, and return it."""
    shutil.copytree(CLIENT, folder)
    command = [sys.executable, str(CLIENT / "generate.py"), str(folder / "endpoints.d.ts")]
    subprocess.run(command, check=True)
    return folder
