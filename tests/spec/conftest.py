"""A service with a scripted language model, and one on each engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Play, endpoint
from engines import empty_store
from sandboxes import SharedSandbox
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.server.app import make_app
from remembrancer.settings import Settings

SAME = "the same model"


@pytest.fixture
def start_with(folder: Path) -> Iterator[Callable[..., tuple[Http, Endpoint]]]:
    """Start the service with a scripted model in a slot; return a client and the model endpoint."""
    with ExitStack() as stack:

        def begin(slot: str, *plays: Play, **more: Any) -> tuple[Http, Endpoint]:
            tiny = stack.enter_context(endpoint(*plays))
            values: dict[str, Any] = {
                name: tiny.named() if value == SAME else value
                for name, value in {slot: SAME, **more}.items()
            }
            settings = Settings(data=folder, embedder="none", durability="normal", **values)
            context = testing.context(folder, settings=settings)
            stack.callback(context.close)
            client = stack.enter_context(
                TestClient(
                    make_app(context, sandbox=SharedSandbox(context.settings)),
                    base_url="http://127.0.0.1:8460",
                )
            )
            return Http(client, context, new_key(context)), tiny

        yield begin


@pytest.fixture(params=["sqlite", "postgresql", "database"], scope="module")
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Http]:
    """Serve on each engine; `database`: PostgreSQL itself searches, whose index is not loaded."""
    folder = tmp_path_factory.mktemp("data")
    is_database = request.param == "database"
    chosen = Settings(
        data=folder,
        store=empty_store("sqlite" if request.param == "sqlite" else "postgresql", folder),
        durability="normal",
        database_search_events=1 if is_database else 0,
        index_memory_bytes=0 if is_database else 1 << 28,
    )
    with ExitStack() as stack:
        context = testing.context(folder, settings=chosen)
        stack.callback(context.close)
        client = stack.enter_context(TestClient(make_app(context), base_url="http://127.0.0.1"))
        yield Http(client, context, new_key(context))
