"""The programs of docs/guides/frameworks.md run with the real packages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from architecture.blocks import Block, blocks
from architecture.tree import ROOT
from command import captured
from frameworks.conftest import ANSWER, WEATHER, Place
from frameworks.environments import PYTHON, node_modules_of, python_of
from service import new_key
from typescript import client_with_types

pytestmark = pytest.mark.timeout(900)  # the first run installs the packages
PAGE = ROOT / "docs" / "guides" / "frameworks.md"
BLOCKS = [
    block for block in blocks(PAGE.read_text("utf-8"), PAGE.name) if block.environment is not None
]
SECONDS_MAX = 120


def run(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    """Return the output of a program, which must succeed."""
    process = captured(command, cwd=folder, env=variables, timeout=SECONDS_MAX)
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.environment in PYTHON],
    ids=lambda block: f"{block.environment}-{block.place.rpartition(':')[2]}",
)
def test_agent_answers_from_memory(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]], block: Block
) -> None:
    """The answer has what memory knows and what the agent's own tool says."""
    python = python_of(str(block.environment))
    program = tmp_path / "program.py"
    program.write_text(place.addressed(block.text), "utf-8")

    printed = run([python, str(program)], tmp_path, environment())

    assert ANSWER in printed
    if "weather" in block.text:  # the service is the model: it stores the turn
        assert WEATHER in printed
        assert place.responses()[1:] == [ANSWER + WEATHER]


def test_vercel_ai_sdk_answers_from_memory(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]]
) -> None:
    """With a tool, and streamed without one."""
    [block] = [block for block in BLOCKS if block.environment == "vercel"]
    (tmp_path / "node_modules").symlink_to(node_modules_of("vercel"))
    program = tmp_path / "program.mjs"
    program.write_text(place.addressed(block.text), "utf-8")

    printed = run(["node", str(program)], tmp_path, environment())

    assert printed.splitlines()[0] == ANSWER + WEATHER
    assert ANSWER in printed.splitlines()[1]
    assert len(place.responses()) >= 2


def test_typescript_client_checks_and_runs(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]]
) -> None:
    """The compiler accepts the guide's program with the client's types, and Node runs it."""
    [block] = [block for block in BLOCKS if block.environment == "typescript"]
    modules = tmp_path / "node_modules"
    (modules / "@remembrancer").mkdir(parents=True)
    client_with_types(modules / "@remembrancer" / "client")
    (modules / "@types").symlink_to(node_modules_of("typescript") / "@types")
    (modules / "undici-types").symlink_to(node_modules_of("typescript") / "undici-types")
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    (tmp_path / "program.ts").write_text(place.addressed(block.text), "utf-8")
    compiler = str(node_modules_of("typescript") / ".bin" / "tsc")
    options = "--strict --target es2022 --module nodenext --types node --preserveSymlinks"

    run([compiler, *options.split(), "program.ts"], tmp_path, environment())
    printed = run(["node", "program.js"], tmp_path, environment())

    hits, facts, error = printed.splitlines()
    assert "At 9:40 from pier 3." in hits
    assert (facts, error) == ("0", "404 not_found")


@pytest.mark.parametrize("name", ["langgraph_node", "langgraph_graph"])
def test_langgraph_examples_print_the_conversation_of_their_page(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]], name: str
) -> None:
    """The examples that the other tests skip without LangGraph."""
    page = (ROOT / "docs" / "guides" / "adapters.md").read_text("utf-8")
    expected = page.rpartition("```text\n")[2].partition("```\n")[0]
    python = python_of("langgraph")
    variables = environment(PYTHONPATH=str(ROOT / "src"), KEY=new_key(place.context, name))

    printed = run([python, str(ROOT / "examples" / f"{name}.py"), place.url], tmp_path, variables)

    assert re.sub(r"e_\w+", "e_1", printed) == expected


CLIENTS = Path(__file__).parent / "programs" / "clients.py"


def test_clients_get_what_they_ask_for(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]]
) -> None:
    """Answers, streams, tools, images, structured output, embeddings, responses and errors."""
    printed = run(
        [python_of("clients"), "-W", "ignore", str(CLIENTS), place.url], tmp_path, environment()
    )

    results = dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)
    assert [f"{name}: {text}" for name, text in results.items() if "BROKEN" in text] == []
    assert len(results) == 24
    for name in ("langchain invoke", "langchain stream", "litellm stream", "litellm image"):
        assert ANSWER in results[name]
    assert WEATHER in results["langchain tools"]
    assert results["litellm stream_tools"] == '{"place": "Elba"}'
    assert results["langchain embeddings"] == "64"
    assert results["litellm wrong_key"] == "AuthenticationError"
    assert results["openai responses_parse"] == "9:40"
