"""Environments with the real packages of frameworks, in a folder that later runs use again."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from command import captured

# Pinned, so that a run does not fail because a framework was released.
PYTHON = {
    "clients": (
        "openai==2.54.0",
        "llm==0.32.1",
        "litellm==1.106.2",
        "langchain-openai==1.7.3",
        "mcp==2.3.0",
    ),
    "langgraph": (
        "langchain==1.4.7",
        "langgraph==1.2.22",
        "langchain-openai==1.7.3",
        "langchain-mcp-adapters==0.3.2",
        "httpx2==2.16.2",
    ),
    "mem0": ("mem0ai==2.2.1", "langchain==1.4.7", "httpx2==2.16.2"),
    "openai-agents": ("openai-agents==0.24.0",),
    "pydantic-ai": ("pydantic-ai-slim[openai,mcp]==2.68.0",),
    "crewai": ("crewai==1.15.30", "crewai-tools[mcp]==1.15.30"),
    "llama-index": (
        "llama-index-core==0.14.25",
        "llama-index-llms-openai-like==0.8.1",
        "llama-index-tools-mcp==0.6.0",
    ),
}
NODE = {
    "vercel": ("ai@6.0.326", "@ai-sdk/openai-compatible@2.0.91", "zod@4.6.7"),
    "typescript": ("typescript@5.9.3", "@types/node@20.19.43"),
}
INSTALL_SECONDS_MAX = 600


def cache_folder() -> Path:
    """Return the folder of the environments, outside the tree."""
    configured = os.environ.get("FRAMEWORKS_CACHE")
    return Path(configured) if configured else Path.home() / ".cache" / "remembrancer-frameworks"


@cache
def python_of(name: str) -> str:
    """Return the Python of an environment; install it first if needed, or skip the test."""
    folder = _folder(name, PYTHON[name])
    uv = [sys.executable, "-m", "uv"]
    with _only_one(folder):
        if not (folder / "ready").exists():
            _install(folder, [*uv, "venv", "--quiet", "--clear", str(folder)])
            python = ["--python", str(folder / "bin" / "python")]
            _install(folder, [*uv, "pip", "install", "--quiet", *python, *PYTHON[name]])
            (folder / "ready").touch()
    return str(folder / "bin" / "python")


@cache
def node_modules_of(name: str) -> Path:
    """Return the folder `node_modules` of an environment, or skip the test."""
    folder = _folder(name, NODE[name])
    if shutil.which("npm") is None:
        pytest.skip("needs Node.js and npm")
    with _only_one(folder):
        if not (folder / "ready").exists():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_text(json.dumps({"private": True}), "utf-8")
            options = ["--prefix", str(folder), "--no-audit", "--no-fund", "--silent"]
            _install(folder, ["npm", "install", *options, *NODE[name]])
            (folder / "ready").touch()
    return folder / "node_modules"


def _folder(name: str, pins: tuple[str, ...]) -> Path:
    digest = hashlib.sha256("\n".join((sys.version, *pins)).encode()).hexdigest()[:12]
    return cache_folder() / f"{name}-{digest}"


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Let one process at a time install an environment; the others wait and use it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(folder: Path, command: list[str]) -> None:
    process = captured(command, timeout=INSTALL_SECONDS_MAX)
    if process.returncode:
        reason = " ".join(process.stderr.split())[-300:]
        pytest.skip(f"the package registry does not answer for {folder.name}: {reason}")
