"""A service whose model answers from what memory put into its prompt (`make test-frameworks`)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from endpoint import Handler, calls_tools, endpoint, replies
from service import Http, new_key, serving
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.server.app import make_app
from remembrancer.settings import Settings

collect_ignore_glob = [] if os.environ.get("TEST_FRAMEWORKS") else ["test_*.py"]
ANSWER, NO_ANSWER = "The ferry leaves at 9:40 from pier 3.", "I do not know."
WEATHER = " It is sunny."
_CALLS = {
    "weather": '{"place": "Elba"}',
    "recall": '{"query_text": "When does the ferry to Elba leave?"}',
}


@dataclass(frozen=True, slots=True)
class Place:
    """A running service, its key, the address of its model, and its context."""

    url: str
    key: str
    model_url: str
    context: Context

    def addressed(self, text: str) -> str:
        """Return a text of the documentation with the addresses of this place."""
        text = text.replace("http://127.0.0.1:8460", self.url)
        return text.replace("http://127.0.0.1:11434/v1", self.model_url)

    def responses(self) -> list[str]:
        """Return the responses of the stored turns."""
        sql = "select response from events order by id"
        return [row.response for row in self.context.store.read(lambda tx: tx.all(sql))]


def _play(handler: Handler) -> None:
    """Call the first tool that it knows, then answer from the texts in its prompt."""
    body: dict[str, Any] = handler.body
    text = json.dumps(body["messages"])
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    calls = [("call_1", name, call) for name, call in _CALLS.items() if name in names][:1]
    if calls and body["messages"][-1]["role"] != "tool":
        calls_tools(*calls)(handler)
    elif body.get("response_format"):
        replies('{"port": "Elba", "time": "9:40"}')(handler)
    else:
        answer = ANSWER if "pier 3" in text else NO_ANSWER
        replies(answer + (WEATHER if "sunny" in text else ""))(handler)


@pytest.fixture
def place(folder: Path) -> Iterator[Place]:
    """Start a service whose memory has one turn about the ferry."""
    with endpoint(_play) as model:
        settings = Settings(
            data=folder, embedder="none", durability="normal", model_chat=model.named()
        )
        context = testing.context(folder, settings=settings)
        key = new_key(context)
        with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
            Http(client, context, key).remember(
                "When does the ferry to Elba leave?", "At 9:40 from pier 3."
            )
        with serving(make_app(context)) as port:
            yield Place(f"http://127.0.0.1:{port}", key, model.base_url, context)
        context.close()


@pytest.fixture
def environment(place: Place, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Return a function that makes the environment variables of a program."""

    def variables(**more: str) -> dict[str, str]:
        kept_names = ("PATH", "LANG", "SSL_CERT_FILE")
        inherited = {name: os.environ[name] for name in kept_names if name in os.environ}
        quiet = {
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_TRACING_ENABLED": "false",
            "OTEL_SDK_DISABLED": "true",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        return {**inherited, **quiet, "HOME": str(tmp_path), "KEY": place.key, **more}

    return variables
