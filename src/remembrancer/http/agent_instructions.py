"""Instructions for agents, generated from the constitution and the tools.

`/llms.txt` is served. The files of the repository are written by
`python -m remembrancer.http.agent_instructions`; a test checks that they are up to date.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from ..client.tools import TOOLS, chosen_tools
from ..protocol.constitution import RULES, VERSION, compact_text

ROOT = Path(__file__).parents[3]  # of the repository, if the package runs from it
SKILL, AGENTS = "integrations/claude-code/skills/memory/SKILL.md", "integrations/AGENTS.md"


def llms_text(base: str) -> str:
    """Return `/llms.txt` (llmstxt.org)."""
    return _render("llms.txt", base=base)


def files() -> Mapping[str, str]:
    """Return the generated files by path: the skill and the AGENTS.md section."""
    return {SKILL: _render("skill.md"), AGENTS: _render("agents.md")}


def _render(template: str, base: str = "") -> str:
    parts = {
        "about": _template("about.md"),
        "turn": _template("turn.md"),
        "version": str(VERSION),
        "rules_beside_hooks": compact_text("REM", "hooks"),
        "rules": "\n".join(f"{number}. {rule}" for number, rule in enumerate(RULES, 1)),
        "tools": "\n".join(f"- `{tool.name}`: {tool.description}" for tool in TOOLS),
        "tools_beside_hooks": "\n".join(
            f"- `{tool.name}`: {tool.description}"
            for tool in chosen_tools("memory", beside_hooks=True)
        ),
        "base": base,
    }
    text = _template(template)
    for name, content in parts.items():
        text = text.replace(f"{{{name}}}", content)
    return f"{text}\n"


def _template(name: str) -> str:
    folder = resources.files("remembrancer.http").joinpath("templates", "agents")
    return folder.joinpath(name).read_text("utf-8").rstrip("\n")


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
