"""The real clients of `make test-agents`: fixed versions from npm, installed once into a cache.

    python -m agents.clients

installs what is missing. With AGENT_VERSIONS=newest it installs the newest versions instead. If npm does not answer, it prints one line to stderr and exits with 75.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import remembrancer

UNAVAILABLE = 75  # EX_TEMPFAIL: no status of pytest
REGISTRY_TIMEOUT_S = 30
INSTALL_TIMEOUT_S = 600
# Folder of the cache → packages. Node 22 runs those that need it, whatever the machine has.
PACKAGES = {
    "claude-code": ("@anthropic-ai/claude-code@2.1.332",),
    "codex": ("@openai/codex@0.171.0",),
    "conformance": ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22.23.3"),
    "inspector": ("@modelcontextprotocol/inspector@2.12.0",),
    "gemini-cli": ("@google/gemini-cli@0.61.0",),
    "qwen-code": ("@qwen-code/qwen-code@0.24.4",),
    "opencode": ("opencode-ai@1.18.33",),
    "cline": ("cline@3.0.65",),
    "copilot-cli": ("@github/copilot@1.0.102",),
}
IS_NEWEST = os.environ.get("AGENT_VERSIONS") == "newest"
if IS_NEWEST:  # all but the conformance suite, which is a preview and names its Node
    PACKAGES |= {
        client: tuple(f"{package.rpartition('@')[0]}@latest" for package in packages)
        for client, packages in PACKAGES.items()
        if client != "conformance"
    }
# Programs below node_modules. Most are native programs; their scripts only look for them.
PROGRAMS = {
    "claude-code": "@anthropic-ai/claude-code-*/claude",
    "codex": "@openai/codex-*/vendor/*/bin/codex",
    "conformance": "@modelcontextprotocol/conformance/dist/index.js",
    "inspector": "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    "gemini-cli": ".bin/gemini",
    "qwen-code": ".bin/qwen",
    "opencode": ".bin/opencode",
    "cline": "@cline/cli-*/bin/cline",
    "copilot-cli": "@github/copilot-*/copilot",
}


# Variables of this machine's agents, and keys of ours.
OTHERS_VARIABLES = (
    "ANTHROPIC", "CLAUDE", "CODEX", "GEMINI", "GOOGLE", "OPENAI", "REMEMBRANCER", "XDG_",
)  # fmt: skip


class NpmUnavailableError(RuntimeError):
    """npm is not installed or its registry does not answer."""


def cache() -> Path:
    """Return the folder of the clients, outside the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "remembrancer-agents"


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a client in a home: nothing of this machine's agents."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(OTHERS_VARIABLES)
    }
    # A busy machine is no hanging service.
    return inherited | {"HOME": str(home), "REMEMBRANCER_HOOK_SECONDS": "30"} | variables


def node_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a client that Node runs, and that starts commands of ours."""
    return environment(
        home,
        PATH=f"{node_folder()}:{os.environ['PATH']}",
        PYTHONPATH=str(Path(remembrancer.__file__).parents[1]),
        GEMINI_CLI_TRUST_WORKSPACE="true",
        **variables,
    )


def wait_for_hooks(home: Path) -> None:
    """Wait until the hooks have sent the turn, which they do in the background."""
    with (home / ".local/state/remembrancer/hooks/background").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def program(client: str) -> Path | None:
    """Return the program of a client, or None if it is not installed."""
    matches = sorted((_folder(client) / "node_modules").glob(PROGRAMS[client]))
    return matches[0] if matches else None


def node_folder() -> Path:
    """Return the folder of the program `node`, version 22."""
    return _folder("conformance") / "node_modules" / "node" / "bin"


def install_missing() -> list[str]:
    """Install the clients that the cache lacks; return their names.

    Raises NpmUnavailableError, and CalledProcessError if npm fails although its registry answers.
    """
    missing = [client for client in PACKAGES if IS_NEWEST or program(client) is None]
    if missing:
        _require_registry()
    for client in missing:
        _install(client)
    return missing


def _folder(client: str) -> Path:
    """Return the folder of these versions, so that another version is another installation."""
    versions = "_".join(package.rpartition("@")[2] for package in PACKAGES[client])
    return cache() / f"{client}-{versions}-{platform.machine()}"


def _require_registry() -> None:
    if shutil.which("npm") is None:
        raise NpmUnavailableError("npm is not installed (Debian: sudo apt-get install npm)")
    try:
        _npm(["ping", "--fetch-retries=0"], timeout_s=REGISTRY_TIMEOUT_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise NpmUnavailableError("the registry of npm does not answer") from error


def _install(client: str) -> None:
    """Install into a temporary folder, then rename it: an interrupted installation leaves none."""
    folder = _folder(client)
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    try:
        options = ["--no-audit", "--no-fund", "--no-update-notifier", "--prefix", str(partial)]
        _npm(["install", *options, *PACKAGES[client]], timeout_s=INSTALL_TIMEOUT_S)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _npm(words: Sequence[str], *, timeout_s: float) -> None:
    subprocess.run(["npm", *words], check=True, capture_output=True, timeout=timeout_s)


def main() -> None:
    """Install the missing clients and print their names."""
    try:
        names = install_missing()
    except NpmUnavailableError as error:
        sys.stderr.write(
            f"test-agents: {error}, so no tests ran with real clients. They need the packages "
            f"{', '.join(name for names in PACKAGES.values() for name in names)}.\n"
        )
        sys.exit(UNAVAILABLE)
    except subprocess.CalledProcessError as error:
        sys.exit(f"test-agents: npm failed:\n{error.stderr.decode('utf-8', 'replace')}")
    if names:
        sys.stderr.write(f"test-agents: installed {', '.join(names)} into {cache()}\n")


if __name__ == "__main__":
    main()
