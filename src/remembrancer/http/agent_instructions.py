"""Texts that tell agents how to use this memory, made of the constitution and the tools:
`/llms.txt`, and files of the repository.

`python -m remembrancer.http.agent_instructions` writes the files anew; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from ..client.tools import TOOLS
from ..protocol.constitution import RULES, VERSION

ROOT = Path(__file__).parents[3]  # of the repository, where the package is installed from it
SKILL, AGENTS = "integrations/claude-code/skills/memory/SKILL.md", "integrations/AGENTS.md"


HOOKS = "integrations/claude-code/hooks/remembrancer_protocol"
LENT = (
    "fence.py",
    "line.py",
    "lines.py",
    "pasted.py",
    "seal.py",
)  # of the protocol, which hooks need where the package is not installed
_LENT_ABOUT = '"""Parts of the package\'s protocol, copied from it word for word, for hooks that run without the package."""\n'


def llms_text(base: str) -> str:
    """`/llms.txt` (llmstxt.org): what this is and where a language model reads on."""
    return _made("llms.txt", base=base)


def files() -> Mapping[str, str]:
    """The files of the repository by their paths:

    a skill, what goes into AGENTS.md or CLAUDE.md of a project, what hooks are lent.
    """
    protocol = resources.files("remembrancer.protocol")
    lent = {f"{HOOKS}/{name}": protocol.joinpath(name).read_text("utf-8") for name in LENT}
    return {
        SKILL: _made("skill.md"),
        AGENTS: _made("agents.md"),
        f"{HOOKS}/__init__.py": _LENT_ABOUT,
        **lent,
    }


def _made(name: str, base: str = "") -> str:
    parts = {
        "about": _template("about.md"),
        "turn": _template("turn.md"),
        "version": str(VERSION),
        "rules": "\n".join(f"{number}. {rule}" for number, rule in enumerate(RULES, 1)),
        "tools": "\n".join(f"- `{tool.name}`: {tool.description}" for tool in TOOLS),
        "base": base,
    }
    text = _template(name)
    for part, said in parts.items():
        text = text.replace(f"{{{part}}}", said)
    return f"{text}\n"


def _template(name: str) -> str:
    return (
        resources.files("remembrancer.http")
        .joinpath("templates", "agents", name)
        .read_text("utf-8")
        .rstrip("\n")
    )


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
