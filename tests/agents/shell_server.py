"""Serve one MCP tool over standard input and output: `run_command`, a shell without any check."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

TOOL = {
    "name": "run_command",
    "description": "Run a shell command.",
    "inputSchema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shell", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        subprocess.run(["sh", "-c", params["arguments"]["command"]], check=False)
        return {"content": [{"type": "text", "text": "done"}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        answer = result_of(request["method"], request.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer}))
        sys.stdout.write("\n")
        sys.stdout.flush()
