"""A service with a scripted chat model, and one that the tests of a module share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from endpoint import Play, endpoint
from http_server.examples import service_with_examples
from openai_service import Served
from service import Http, new_key, serving
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.search import Embedder
from remembrancer.server.app import make_app
from remembrancer.settings import Settings


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Served]]:
    """Return a function that starts a service with a scripted chat model and one stored turn."""
    with ExitStack() as stack:

        def begin(*plays: Play, embedder: Embedder | None = None) -> Served:
            openai = pytest.importorskip("openai", reason="the package `openai` is not installed")
            model = stack.enter_context(endpoint(*plays))
            settings = Settings(
                data=folder, embedder="none", durability="normal", model_chat=model.named()
            )
            context = testing.context(folder, settings=settings, embedder=embedder)
            stack.callback(context.close)
            key = new_key(context)
            with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
                Http(client, context, key).remember(
                    "When does the ferry to Elba leave?", "At 9:40 from pier 3."
                )
            port = stack.enter_context(serving(make_app(context)))
            client = stack.enter_context(
                openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0)
            )
            return Served(context, client, model)

        yield begin


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Http]:
    """Return a client of one service for the tests of a module, with what the examples mention."""
    with service_with_examples(tmp_path_factory.mktemp("shared")) as http:
        yield http
