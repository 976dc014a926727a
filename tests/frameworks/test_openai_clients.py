"""Clients of OpenAI's API that other people wrote: LangChain, LiteLLM, llm, an older openai."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from frameworks.conftest import ANSWER, WEATHER, Place
from frameworks.environments import python_of
from frameworks.test_frameworks_guide import BLOCKS, run

pytestmark = pytest.mark.timeout(900)  # the first run installs the packages
PROGRAM = Path(__file__).parent / "programs" / "clients.py"


def test_clients_get_what_they_ask_for(
    place: Place, tmp_path: Path, environment: Callable[..., dict[str, str]]
) -> None:
    """Answers, streams, tools, images, structured output, embeddings, responses and errors."""
    printed = run(
        [python_of("clients"), "-W", "ignore", str(PROGRAM), place.url], tmp_path, environment()
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


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ANSWER),
        (["--no-stream"], ANSWER),
        (["--functions", 'def weather(place: str) -> str:\n    "W."\n    return "sunny"'], WEATHER),
        (["--schema", "port, time"], '"time": "9:40"'),
    ],
)
def test_llm_asks_the_memory(
    place: Place,
    tmp_path: Path,
    environment: Callable[..., dict[str, str]],
    options: list[str],
    expected: str,
) -> None:
    """The command `llm` with the guide's model, streamed, with a function and with a schema."""
    [block] = [block for block in BLOCKS if block.environment == "llm"]
    (tmp_path / "extra-openai-models.yaml").write_text(place.addressed(block.text), "utf-8")
    (tmp_path / "keys.json").write_text(json.dumps({"memory": place.key}), "utf-8")
    llm = str(Path(python_of("clients")).with_name("llm"))

    printed = subprocess.run(
        [llm, "-m", "memory", *options, "When does the ferry to Elba leave?"],
        env=environment(LLM_USER_PATH=str(tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout

    assert expected in printed
