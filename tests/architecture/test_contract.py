"""The interface stays as published: OpenAPI document, tool list and command line.

`contract/` holds the published documents; descriptions are not compared. When an
interface changes on purpose, run `python -m architecture.test_contract` (with `tests` on the
PYTHONPATH) and review the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from remembrancer.cli.app import app
from remembrancer.client.tools import schemas
from remembrancer.http import openapi
from remembrancer.protocol.operations import OPERATIONS

FOLDER = Path(__file__).parent / "contract"


def without_descriptions(value: Any) -> Any:
    """Return a JSON document without descriptions and without the sentences of example errors."""
    if isinstance(value, dict):
        return {
            name: without_descriptions(part)
            for name, part in value.items()
            if not (name == "description" and isinstance(part, str))
            and not (name == "detail" and "instance" in value and isinstance(part, str))
        }
    return [without_descriptions(part) for part in value] if isinstance(value, list) else value


def commands(command: Any, name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield every command with its parameters: names, options, and whether they are needed."""
    yield (
        name,
        [
            {
                "name": parameter.name,
                "kind": parameter.param_type_name,
                "opts": sorted([*parameter.opts, *parameter.secondary_opts]),
                "type": getattr(getattr(parameter, "type", None), "name", None),
                "required": getattr(parameter, "required", None),
                "nargs": getattr(parameter, "nargs", 1),
                "is_flag": bool(getattr(parameter, "is_flag", False)),
                "metavar": getattr(parameter, "metavar", None),
            }
            for parameter in command.params
        ],
    )
    for word, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {word}")


def current(name: str) -> Any:
    """Return one document of the interface as the code serves it."""
    if name == "openapi":
        document: Any = openapi.document(OPERATIONS)
    elif name == "tools":
        document = {form: schemas(form) for form in ("openai", "anthropic", "mcp")}
    else:
        document = dict(commands(typer.main.get_command(app), "remembrancer"))
    return without_descriptions(json.loads(json.dumps(document)))


def published(name: str) -> Any:
    """Return the document as it was published."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", ["openapi", "tools", "cli"])
def test_interface_matches_the_published_documents(name: str) -> None:
    assert current(name) == published(name)


if __name__ == "__main__":
    for name in ("openapi", "tools", "cli"):
        text = json.dumps(current(name), ensure_ascii=False, sort_keys=True, indent=1)
        (FOLDER / f"{name}.json").write_text(f"{text}\n", "utf-8")
