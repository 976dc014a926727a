"""Clients of OpenAI's API that other people wrote: LangChain, LiteLLM, llm, an older openai."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from frameworks.conftest import ANSWER, WEATHER, Place
from frameworks.environments import python_of
from frameworks.test_frameworks_guide import run

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
