"""The conformance suite and the inspector of the Model Context Protocol (docs/guides/mcp.md)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from agents import clients
from agents.conftest import KEYED, RunningService, program
from command import captured

pytestmark = pytest.mark.agents

# The other scenarios call tools, prompts and resources of the suite's own example server, or test
# optional features that the service does not offer (tasks, completion, logging, subscriptions).
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "prompts-list",
    "resources-list",
    "caching",
    "http-header-validation",
    "dns-rebinding-protection",
    "sep-2164-resource-not-found",
    "input-required-result-missing-input-response",
    "input-required-result-unsupported-methods",
    "input-required-result-ignore-extra-params",
    "input-required-result-validate-input",
)
# These scenarios of `server-stateless` need tools of the example server.
STATELESS = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}


def run_scenario(name: str, service: RunningService, folder: Path) -> list[dict[str, Any]]:
    """Run a scenario of the conformance suite; return its checks."""
    words = [
        *(str(program("conformance")), "server", "--url", f"{service.url}{KEYED}/mcp"),
        *("--scenario", name, "--output-dir", str(folder)),
    ]
    process = node(*words)
    (checks,) = folder.glob("*/checks.json")
    assert process.returncode in (0, 1), process.stderr
    result: list[dict[str, Any]] = json.loads(checks.read_text("utf-8"))
    return result


def failures(checks: list[dict[str, Any]]) -> list[str]:
    return [check["id"] for check in checks if check["status"] == "FAILURE"]


def node(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the Node of the cache."""
    variables = os.environ | {"PATH": f"{clients.node_folder()}:{os.environ['PATH']}"}
    return captured(["node", *words], env=variables, timeout=60)


def inspect(service: RunningService, *words: str) -> dict[str, Any]:
    """Run the inspector without its page; return its output."""
    address = [f"{service.url}{KEYED}/mcp", "--transport", "http"]
    process = node(str(program("inspector")), "--cli", *address, *words)
    assert process.returncode == 0, process.stderr
    result: dict[str, Any] = json.loads(process.stdout)
    return result


@pytest.mark.parametrize("name", SCENARIOS)
def test_conformance_scenario_passes(name: str, service: RunningService, tmp_path: Path) -> None:
    checks = run_scenario(name, service, tmp_path)

    assert failures(checks) == []
    assert [check["id"] for check in checks if check["status"] == "SUCCESS"] != []


def test_server_without_sessions_conforms(service: RunningService, tmp_path: Path) -> None:
    checks = run_scenario("server-stateless", service, tmp_path)

    assert set(failures(checks)) <= STATELESS
    assert len([check for check in checks if check["status"] == "SUCCESS"]) >= 20


def test_inspector_remembers_and_recalls(service: RunningService) -> None:
    call = ("--method", "tools/call", "--tool-name")
    turn = ("query=Where is the ladder?", "response=In the blue barn.", "session_id=inspector")
    inspect(service, *call, "remember", *(word for arg in turn for word in ("--tool-arg", arg)))
    result = inspect(service, *call, "recall", "--tool-arg", "query_text=ladder")

    assert "In the blue barn." in result["content"][0]["text"]


def test_inspector_reads_the_start_pack(service: RunningService) -> None:
    result = inspect(service, "--method", "resources/read", "--uri", "memory://start")

    assert "<<memory-data" in result["contents"][0]["text"]


def test_inspector_is_refused_without_a_key(service: RunningService) -> None:
    words = ["--cli", f"{service.url}/mcp", "--transport", "http", "--method", "tools/list"]
    process = node(str(program("inspector")), *words)

    assert process.returncode != 0
    assert "auth_required" in process.stderr
