"""`remembrancer install`: shows, writes and removes the setup, and preserves other content."""

from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import Cli

from remembrancer.cli.install import plan
from remembrancer.install.agents import AGENTS, plan_changes
from remembrancer.install.config_files import (
    Change,
    ConfigUnreadable,
    FileChanged,
    InstallOptions,
    folder,
    mcp_command,
    write,
)
from remembrancer.install.json_text import EditableJson
from remembrancer.settings import SettingInvalid

URL = "http://127.0.0.1:8460"
OTHERS: dict[str, dict[str, str]] = {  # existing content of these files, with unusual formatting
    "claude-code": {
        ".claude/settings.json": '{\n\t"model": "opus",\n\t"hooks": {"Stop": [{"hooks": ['
        '{"type": "command", "command": "say"}]}]}\n}\n',
        ".claude.json": '{"numStartups": 7, "projects": {"/x": {"rate": 0.5}}}',
    },
    "codex": {
        ".codex/config.toml": '# mine\nmodel = "gpt-5.2-codex"  # the best\n\n'
        '[mcp_servers.other]\ncommand = "other"\n'
    },
    "cursor": {
        ".cursor/hooks.json": '{\n    "version": 1,\n    "hooks": {\n'
        '        "stop": [{"command": "./done.sh"}]\n    }\n}\n',
        ".cursor/mcp.json": '{\r\n  "mcpServers": {\r\n    "other": {\r\n'
        '      "url": "http://localhost:1/é"\r\n    }\r\n  }\r\n}\r\n',
        "AGENTS.md": "# Rules\n\nBe brief.",
    },
    "claude-desktop": {
        ".config/Claude/claude_desktop_config.json": '{"mcpServers": {}, "globalShortcut": ""}'
    },
    "gemini-cli": {
        ".gemini/settings.json": '{\n  // looks\n  "ui": {"theme": "ANSI"},\n  "mcpServers": {\n'
        '    "other": {"url": "http://localhost:1/é"} // local\n  }\n}\n'
    },
    "opencode": {
        ".config/opencode/opencode.jsonc": '{\n  "$schema": "https://opencode.ai/config.json",\n'
        '  "mcp": {\n    "other": {"type": "remote", "url": "https://localhost"},\n  },\n}\n'
    },
    "qwen-code": {
        ".qwen/settings.json": '{\n  "hooks": {\n    // mine\n    "Stop": [{"hooks": ['
        '{"type": "command", "command": "say"}]}]\n  }\n}\n'
    },
    "cline": {
        ".cline/data/settings/cline_mcp_settings.json": '{\n  "mcpServers": {\n    "other": '
        '{"transport": {"type": "sse", "url": "http://localhost:1/é"}}\n  }\n}\n'
    },
    "continue": {".continue/config.yaml": "name: mine\nversion: 1.0.0\nschema: v1\n"},
    "copilot-cli": {
        ".copilot/mcp-config.json": '{\n  "mcpServers": {\n    "other": {\n      "tools": [\n'
        '        "*"\n      ],\n      "type": "local",\n      "command": "x"\n    }\n  }\n}'
    },
    "windsurf": {
        ".codeium/windsurf/mcp_config.json": '{"mcpServers": {"other": {"serverUrl": "http://x"}}}'
    },
    "goose": {
        ".config/goose/config.yaml": "# mine\nGOOSE_MODEL: x  # fast\nextensions:\n"
        "  # built in\n  developer:\n    enabled: true\n    type: builtin\nGOOSE_MODE: auto"
    },
    "vscode": {
        ".config/Code/User/mcp.json": '{\r\n\t// mine\r\n\t"servers": {},\r\n\t"inputs": []\r\n}'
    },
    "zed": {
        ".config/zed/settings.json": '// Zed settings\n{\n  "theme": "One Dark", // dark\n'
        '  "context_servers": {\n    // none yet\n  },\n}\n'
    },
}
USER_ONLY = {"claude-desktop", "cline", "goose", "windsurf"}  # no configuration of projects


def install_options(
    home: Path, *, remove: bool = False, is_project: bool = False
) -> InstallOptions:
    return InstallOptions(home=home, is_project=is_project, url=URL, remove=remove)


def files_in(home: Path) -> dict[str, str]:
    """Return the content of every file by its relative path."""
    return {
        str(path.relative_to(home)): path.read_bytes().decode()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def write_files(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())


def parse_files(files: dict[str, str]) -> dict[str, Any]:
    return {
        name: EditableJson(text, allows_comments=True).root.value
        if name.endswith((".json", ".jsonc"))
        else tomllib.loads(text)
        if name.endswith(".toml")
        else yaml.safe_load(text)
        if name.endswith(".yaml")
        else text
        for name, text in files.items()
    }


@pytest.mark.parametrize(
    ("agent", "is_project"),
    [
        *((agent, False) for agent in sorted(AGENTS)),
        *((agent, True) for agent in sorted(AGENTS.keys() - USER_ONLY)),
    ],
)
def test_removal_leaves_no_file(home: Path, agent: str, is_project: bool) -> None:
    write(plan_changes(agent, install_options(home, is_project=is_project)))
    installed = files_in(home)
    second_run = plan_changes(agent, install_options(home, is_project=is_project))
    write(plan_changes(agent, install_options(home, is_project=is_project, remove=True)))

    assert installed
    assert second_run == []  # a second installation changes nothing
    assert files_in(home) == {}
    assert plan_changes(agent, install_options(home, remove=True)) == []


def test_applications_with_tools_alone_get_their_documented_format(home: Path) -> None:
    """That of Copilot CLI is what its own `copilot mcp add` writes."""
    command, *words = mcp_command("x", install_options(home))
    for agent in ("continue", "copilot-cli", "windsurf"):
        write(plan_changes(agent, install_options(home)))
    files = parse_files(files_in(home))

    def entry(agent: str) -> dict[str, Any]:
        return {"command": command, "args": [agent if word == "x" else word for word in words]}

    assert files == {
        ".continue/mcpServers/remembrancer.json": {
            "mcpServers": {"remembrancer": entry("continue")}
        },
        ".copilot/mcp-config.json": {
            "mcpServers": {
                "remembrancer": {"tools": ["*"], "type": "local", **entry("copilot-cli")}
            }
        },
        ".codeium/windsurf/mcp_config.json": {"mcpServers": {"remembrancer": entry("windsurf")}},
    }


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_content_of_others_keeps_its_bytes(home: Path, agent: str) -> None:
    """Comments and formatting included."""
    write_files(home, OTHERS[agent])

    write(plan_changes(agent, install_options(home, is_project=agent == "cursor")))
    installed = files_in(home)
    write(plan_changes(agent, install_options(home, is_project=agent == "cursor", remove=True)))

    for name, before in parse_files(OTHERS[agent]).items():
        assert _holds(parse_files(installed)[name], before), name
        assert agent == "continue" or installed[name] != OTHERS[agent][name]  # a file of its own
    assert files_in(home) == OTHERS[agent]


def _holds(whole: Any, part: Any) -> bool:
    """Return True if a value contains all of another."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and _holds(whole[name], value) for name, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(
            any(_holds(candidate, item) for candidate in whole) for item in part
        )
    return (
        bool(whole.startswith(part))
        if isinstance(part, str) and "\n" in part
        else bool(whole == part)
    )


@pytest.mark.parametrize(
    ("agent", "name", "text", "message"),
    [
        ("claude-code", ".claude/settings.json", '{\n  // mine\n  "model": "opus"\n}', "Comments"),
        ("claude-code", ".claude/settings.json", '{"model": "opus",}', "not valid JSON"),
        ("claude-code", ".claude/settings.json", "[]", "must contain a JSON object"),
        ("gemini-cli", ".gemini/settings.json", '{"mcpServers": []}', "must be an object"),
        ("goose", ".config/goose/config.yaml", "extensions: [a]\n", "lines of their own"),
        ("goose", ".config/goose/config.yaml", "extensions:\n  - a\n", "must be a mapping"),
        ("goose", ".config/goose/config.yaml", "extensions:\n\ta: 1\n", "indented with a tab"),
        ("goose", ".config/goose/config.yaml", "- a\n", "line 1 is not an entry"),
        ("goose", ".config/goose/config.yaml", "a: 1\n---\nb: 1\n---\n", "several documents"),
        ("claude-code", ".claude/settings.json", '{"hooks": []}', "`hooks` must be an object"),
        (
            "claude-code",
            ".claude/settings.json",
            '{"hooks": {"Stop": {}}}',
            "`Stop` must be a list",
        ),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": 5}', "must be an object"),
    ],
)
def test_unreadable_file_is_not_changed(
    home: Path, agent: str, name: str, text: str, message: str
) -> None:
    """If one file cannot be edited without loss, no file is written."""
    write_files(home, {name: text})

    with pytest.raises(ConfigUnreadable, match=message):
        plan_changes(agent, install_options(home))

    assert files_in(home) == {name: text}


def test_binary_file_is_not_changed(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigUnreadable, match="not a text file"):
        plan_changes("codex", install_options(home))


def test_choice_of_the_gate_is_in_the_commands_of_hooks(home: Path) -> None:
    write(plan_changes("claude-code", replace(install_options(home), gate="all")))

    settings = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))
    handler = settings["hooks"]["PreToolUse"][0]["hooks"][0]
    assert handler["command"].endswith(" claude-code --gate=all")


def test_symbolic_links_and_modes_are_preserved(home: Path) -> None:
    """Users often keep their settings in a dotfiles folder."""
    write_files(home, {"dotfiles/settings.json": "{}\n", ".claude.json": "{}\n"})
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(home / "dotfiles" / "settings.json")
    (home / ".claude.json").chmod(0o600)

    write(plan_changes("claude-code", install_options(home)))

    assert (home / ".claude" / "settings.json").is_symlink()
    assert "hooks" in json.loads((home / "dotfiles" / "settings.json").read_text("utf-8"))
    assert (home / ".claude.json").stat().st_mode & 0o777 == 0o600


def test_concurrent_change_is_not_overwritten(home: Path) -> None:
    planned = plan_changes("codex", install_options(home))
    write_files(home, {".codex/config.toml": 'model = "new"\n'})

    with pytest.raises(FileChanged):
        write(planned)

    assert files_in(home) == {".codex/config.toml": 'model = "new"\n'}


def test_all_files_are_written_or_none(home: Path) -> None:
    (home / "full").mkdir()
    unwritable = (
        home / "full" / ("x" * 250)
    )  # the name fits, but that of the temporary file does not

    with pytest.raises(OSError, match="too long"):
        write([Change(home / "a", None, "1"), Change(unwritable, None, "2")])

    assert files_in(home) == {}


def test_command_shows_the_changes_and_asks(folder: Path, home: Path) -> None:
    """`remembrancer install` shows the diff before it writes."""
    cli = Cli(folder)
    cli.environment["HOME"] = str(home)

    first_run = cli("install", "claude-code")
    nothing_yet = files_in(home)
    confirmed_run = cli("install", "claude-code", "--yes")
    second_run = cli("install", "claude-code", "--yes")
    removed = cli("install", "claude-code", "--remove", "--yes")

    assert first_run.returncode == 1
    assert "+++ " in first_run.stdout
    assert '+    "SessionStart": [' in first_run.stdout
    assert nothing_yet == {}
    assert (confirmed_run.returncode, second_run.returncode, removed.returncode) == (0, 0, 0)
    assert "up to date" in second_run.stderr
    assert files_in(home) == {}


@pytest.mark.parametrize(
    ("agent", "scope", "url"),
    [
        ("emacs", "user", None),
        ("codex", "world", None),
        ("goose", "project", None),
        ("claude-desktop", "project", None),
        ("codex", "user", "ftp://x"),
        ("codex", "user", "http://x?y"),
    ],
)
def test_invalid_arguments_are_usage_errors(agent: str, scope: str, url: str | None) -> None:
    """SettingInvalid makes the command exit with status 2."""
    with pytest.raises(SettingInvalid):
        plan(agent, scope, url, remove=False)


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_no_file_contains_a_key(home: Path, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with settings are shared and published; the key stays in its own file."""
    monkeypatch.setenv("REMEMBRANCER_KEY", "sk_secret")

    write(plan_changes(agent, install_options(home)))

    assert "sk_secret" not in "".join(files_in(home).values())


def test_plugin_is_complete_and_equals_the_installation(home: Path) -> None:
    """Plugin and installation have the same hooks, tools and skill."""
    plugin = folder() / "claude-code"
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    market = json.loads(
        (folder().parent / ".claude-plugin" / "marketplace.json").read_text("utf-8")
    )
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    server = json.loads((plugin / ".mcp.json").read_text("utf-8"))["mcpServers"]["remembrancer"]
    write(plan_changes("claude-code", install_options(home)))
    settings = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]

    assert manifest["name"] == market["plugins"][0]["name"] == "remembrancer"
    assert (folder().parent / market["plugins"][0]["source"]).resolve() == plugin.resolve()
    assert [_bare(settings), list(settings)] == [_bare(hooks), list(hooks)]
    for groups in hooks.values():
        words = shlex.split(
            groups[0]["hooks"][0]["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(plugin))
        )
        assert words[:3] == ["python3", "-I", "-S"]
        assert Path(words[3]).is_file()
    assert server["url"].endswith("/mcp?client=hooks")
    assert (plugin / "skills" / "memory" / "SKILL.md").read_text("utf-8") == files_in(home)[
        ".claude/skills/remembrancer-memory/SKILL.md"
    ]


def _bare(hooks: dict[str, Any]) -> list[Any]:
    """Return matchers and timeouts without the command."""
    return [
        (event, [group.get("matcher")], [hook["timeout"] for hook in group["hooks"]])
        for event, groups in hooks.items()
        for group in groups
    ]
