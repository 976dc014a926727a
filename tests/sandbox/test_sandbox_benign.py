"""Ordinary programs run unchanged in the sandbox."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from remembrancer.sandbox.sandbox import Sandbox

# `needs` (packages besides numpy and the standard library), `code`, `prints` (null: any output)
BENIGN = json.loads((Path(__file__).parent / "benign-programs.json").read_text("utf-8"))
MODULES = {"pillow": "PIL"}  # packages whose module has another name


def _installed(packages: str) -> bool:
    return all(importlib.util.find_spec(MODULES.get(name, name)) for name in packages.split())


@pytest.mark.parametrize(
    ("packages", "code", "printed"),
    [
        pytest.param(
            *(one["needs"], one["code"], one["prints"]),
            marks=pytest.mark.skipif(
                not _installed(one["needs"]), reason=f"needs {one['needs']}: the extra `sandbox`"
            ),
        )
        for one in BENIGN
    ],
)
def test_ordinary_program_runs_unchanged(
    box: Sandbox, packages: str, code: str, printed: str | None
) -> None:
    run = box.run(code, seconds=60)

    assert (run.exit_code, run.error) == (0, None), run.stderr
    assert printed is None or run.stdout == printed
