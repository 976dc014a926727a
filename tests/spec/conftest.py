"""A service with a scripted language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Play, endpoint
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
