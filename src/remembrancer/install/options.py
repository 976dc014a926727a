"""Options of an installation, and the commands that agents run: hooks, headers and MCP."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

ROOT = Path(__file__).parents[3]  # of the repository, if the package runs from it
PROGRAM = "remembrancer_hook.py"
NAME = "remembrancer"
DEFAULT_URL = "http://127.0.0.1:8460"
GATES = ("writes", "all", "off")  # what the hooks ask a grant for; the first is the default


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """Options of an installation.

    `home` is the folder of the user or of the project. `config_home` is the user's XDG_CONFIG_HOME;
    None means the default. `tools` are those that the agent lists, as `client.tools.chosen_tools`
    takes them, `gate` is one of GATES.
    """

    home: Path
    is_project: bool
    url: str
    remove: bool
    config_home: Path | None = None
    tools: str = "memory"
    gate: str = GATES[0]

    @property
    def config(self) -> Path:
        """The folder of the user's configuration."""
        return self.config_home or self.home / ".config"


def hook_command(agent: str, options: InstallOptions) -> str:
    """Return the shell command that runs the hook program with this Python."""
    words = [options.url] if options.url != DEFAULT_URL else []
    words += [f"--gate={options.gate}"] if options.gate != GATES[0] else []
    return _hook_program(PROGRAM, agent, *words)


def headers_command() -> str:
    """Return the shell command that prints the headers of MCP requests, with the key."""
    return _hook_program("remembrancer_headers.py")


def mcp_command(agent: str, options: InstallOptions, *, beside_hooks: bool = False) -> list[str]:
    """Return the words of the command that serves MCP over standard input and output.

    It reads the key from REMEMBRANCER_KEY or the agent's key file: no configuration contains one.
    `beside_hooks`: its texts leave to the hooks what they do.
    """
    words = ["--agent", agent, *(["--beside-hooks"] if beside_hooks else [])]
    words += ["--tools", options.tools, "--url", options.url]
    return [sys.executable, "-m", "remembrancer", "mcp", *words]


def folder() -> Path:
    """Return the folder with the agents' files, in the package or in the repository."""
    installed = Path(str(resources.files("remembrancer"))) / "integrations"
    return installed if installed.is_dir() else ROOT / "integrations"


def _hook_program(name: str, *arguments: str) -> str:
    """Return the shell command that runs a program of the hooks' folder with this Python."""
    program = folder() / "claude-code" / "hooks" / name
    return shlex.join([sys.executable, "-I", "-S", str(program), *arguments])
