"""Call a server that a bench started."""

from __future__ import annotations

import json
from typing import Any

from bench.http import Server


def call(one: Server, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Return the answer of a request to `/api/v7/<path>`. Any status but 200 ends the bench."""
    status, answer = one.request(method, f"/api/v7/{path}", body)
    if status != 200:
        raise SystemExit(f"{path} answered {status}: {answer[:300]!r}")
    return json.loads(answer)
