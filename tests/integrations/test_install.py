"""`remembrancer install`: writes and removes what agents need, shows it first, and keeps what others wrote."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from command import Cli
from integrations.agent import Agent, context
from service import new_key

from remembrancer.cli.install import plan
from remembrancer.context import Context
from remembrancer.install.agents import AGENTS, InstallOptions, folder, hook_command, plan_changes
from remembrancer.install.file_changes import Change, ConfigUnreadable, FileChanged, write
from remembrancer.settings import SettingInvalid

URL = "http://127.0.0.1:8460"
OTHERS: dict[str, dict[str, str]] = {  # what people have in these files, laid out as they like
    "claude-code": {
        ".claude/settings.json": '{\n\t"model": "opus",\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}\n}\n',
        ".claude.json": '{"numStartups": 7, "projects": {"/x": {"rate": 0.5}}}',
    },
    "codex": {".codex/config.toml": '# mine\nmodel = "gpt-5.2-codex"  # the best\n\n[mcp_servers.other]\ncommand = "other"\n'},
    "cursor": {
        ".cursor/hooks.json": '{\n    "version": 1,\n    "hooks": {\n        "stop": [{"command": "./done.sh"}]\n    }\n}\n',
        ".cursor/mcp.json": '{\r\n  "mcpServers": {\r\n    "other": {\r\n      "url": "http://localhost:1/é"\r\n    }\r\n  }\r\n}\r\n',
        "AGENTS.md": "# Rules\n\nBe brief.",
    },
}


def wanted(home: Path, *, remove: bool = False, is_project: bool = False) -> InstallOptions:
    return InstallOptions(home=home, is_project=is_project, url=URL, remove=remove)


def tree(home: Path) -> dict[str, str]:
    """Every file by its name."""
    return {str(path.relative_to(home)): path.read_bytes().decode() for path in sorted(home.rglob("*")) if path.is_file()}


def put(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())


def parsed(files: dict[str, str]) -> dict[str, Any]:
    return {
        name: json.loads(text) if name.endswith(".json") else tomllib.loads(text) if name.endswith(".toml") else text
        for name, text in files.items()
    }


@pytest.mark.parametrize("is_project", [False, True])
@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_what_is_installed_is_taken_out_again_and_nothing_is_left(home: Path, agent: str, is_project: bool) -> None:
    write(plan_changes(agent, wanted(home, is_project=is_project)))
    installed = tree(home)
    again = plan_changes(agent, wanted(home, is_project=is_project))
    write(plan_changes(agent, wanted(home, is_project=is_project, remove=True)))

    assert installed
    assert again == []  # installing twice changes nothing
    assert tree(home) == {}
    assert plan_changes(agent, wanted(home, remove=True)) == []


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_what_others_wrote_is_kept(home: Path, agent: str) -> None:
    """JSON keeps its other values, TOML and Markdown their bytes."""
    put(home, OTHERS[agent])

    write(plan_changes(agent, wanted(home, is_project=agent == "cursor")))
    installed = parsed(tree(home))
    write(plan_changes(agent, wanted(home, is_project=agent == "cursor", remove=True)))
    left = tree(home)

    for name, before in parsed(OTHERS[agent]).items():
        assert _holds(installed[name], before), name
        assert installed[name] != before
    assert parsed(left).keys() == OTHERS[agent].keys()
    for name, text in OTHERS[agent].items():
        if name.endswith(".json"):
            assert json.loads(left[name]) == json.loads(text)
            assert ("\r\n" in left[name]) == ("\r\n" in text)
        else:
            assert left[name].rstrip("\n") == text.rstrip("\n")


def _holds(whole: Any, part: Any) -> bool:
    """Whether all of a part is still in the whole."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and _holds(whole[name], value) for name, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(_holds(one, wanted) for one in whole) for wanted in part)
    return bool(whole.startswith(part)) if isinstance(part, str) and "\n" in part else bool(whole == part)


@pytest.mark.parametrize(
    ("agent", "name", "text", "said"),
    [
        ("claude-code", ".claude/settings.json", '{\n  // mine\n  "model": "opus"\n}', "comments"),
        ("claude-code", ".claude/settings.json", '{"model": "opus",}', "no plain JSON"),
        ("claude-code", ".claude/settings.json", "[]", "no JSON object"),
        ("claude-code", ".claude/settings.json", '{"hooks": []}', "`hooks` is no object"),
        ("claude-code", ".claude/settings.json", '{"hooks": {"Stop": {}}}', "`Stop` is no list"),
        ("claude-code", ".claude/settings.json", '{"a": 1, "a": 2}', "stands twice"),
        ("claude-code", ".claude/settings.json", '{"a": 1.10}', "would not stay"),
        ("claude-code", ".claude.json", "\ufeff{}", "no plain JSON"),
        ("codex", ".codex/config.toml", "model = ", "no TOML"),
        ("codex", ".codex/config.toml", '[mcp_servers.remembrancer]\nurl = "http://x"\n', "already"),
        ("codex", ".codex/config.toml", "# remembrancer: begin\n", "do not stand there once each"),
        ("codex", ".codex/hooks.json", "[" * 100_000, "no plain JSON"),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": 5}', "no object"),
    ],
)
def test_what_cannot_be_read_is_left_alone(home: Path, agent: str, name: str, text: str, said: str) -> None:
    """Never destroyed: a file that would not come out the same is refused, and no other file is written either."""
    put(home, {name: text})

    with pytest.raises(ConfigUnreadable, match=said):
        plan_changes(agent, wanted(home))

    assert tree(home) == {name: text}


def test_bytes_that_are_no_text_are_left_alone(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigUnreadable, match="no text file"):
        plan_changes("codex", wanted(home))


def test_an_older_set_up_is_replaced_and_not_doubled(home: Path) -> None:
    write(plan_changes("claude-code", wanted(home)))
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text("utf-8").replace(sys.executable, "python3.9"), "utf-8")

    write(plan_changes("claude-code", wanted(home)))

    stop = json.loads(settings.read_text("utf-8"))["hooks"]["Stop"]
    assert [one["command"] for group in stop for one in group["hooks"]] == [hook_command("claude-code", URL)]


def test_a_link_stays_a_link_and_a_private_file_private(home: Path) -> None:
    """People keep their settings in a folder of dotfiles."""
    put(home, {"dotfiles/settings.json": "{}\n", ".claude.json": "{}\n"})
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(home / "dotfiles" / "settings.json")
    (home / ".claude.json").chmod(0o600)

    write(plan_changes("claude-code", wanted(home)))

    assert (home / ".claude" / "settings.json").is_symlink()
    assert "hooks" in json.loads((home / "dotfiles" / "settings.json").read_text("utf-8"))
    assert (home / ".claude.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_changed_in_between_is_not_written_over(home: Path) -> None:
    made = plan_changes("codex", wanted(home))
    put(home, {".codex/config.toml": 'model = "new"\n'})

    with pytest.raises(FileChanged):
        write(made)

    assert tree(home) == {".codex/config.toml": 'model = "new"\n'}


def test_when_one_file_cannot_be_written_none_is(home: Path) -> None:
    (home / "full").mkdir()
    unwritable = home / "full" / ("x" * 250)  # the name itself fits, that of the new file beside it does not

    with pytest.raises(OSError, match="too long"):
        write([Change(home / "a", None, "1"), Change(unwritable, None, "2")])

    assert tree(home) == {}


def test_the_command_shows_the_changes_and_asks(folder: Path, home: Path) -> None:
    """`remembrancer install` shows the diff before it writes."""
    cli = Cli(folder)
    cli.environment["HOME"] = str(home)

    asked = cli("install", "claude-code")
    nothing_yet = tree(home)
    done = cli("install", "claude-code", "--yes")
    again = cli("install", "claude-code", "--yes")
    removed = cli("install", "claude-code", "--remove", "--yes")

    assert asked.returncode == 1
    assert "+++ " in asked.stdout
    assert '+    "SessionStart": [' in asked.stdout
    assert nothing_yet == {}
    assert (done.returncode, again.returncode, removed.returncode) == (0, 0, 0)
    assert "nothing to change" in again.stderr
    assert tree(home) == {}


@pytest.mark.parametrize(
    ("agent", "scope", "url"),
    [("emacs", "user", None), ("codex", "world", None), ("codex", "user", "ftp://x"), ("codex", "user", "http://x?y")],
)
def test_wrong_words_are_wrong_use(agent: str, scope: str, url: str | None) -> None:
    """Exit status 2, which SettingInvalid means to the command line."""
    with pytest.raises(SettingInvalid):
        plan(agent, scope, url, remove=False)


def test_an_address_is_written_so_that_the_file_can_be_read(home: Path) -> None:
    write(plan_changes("codex", InstallOptions(home=home, is_project=False, url='http://x/"\\', remove=False)))

    config = tomllib.loads((home / ".codex" / "config.toml").read_text("utf-8"))
    assert config["mcp_servers"]["remembrancer"]["url"] == 'http://x/"\\/mcp'


def test_the_hooks_that_are_installed_run(home: Path, service_url: str, context: Context) -> None:
    """What is written is a command line: it is started as an agent starts it."""
    write(plan_changes("claude-code", InstallOptions(home=home, is_project=False, url=service_url, remove=False)))
    command = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(home), "source": "startup"}
    environment = {"HOME": str(home), "REMEMBRANCER_KEY": new_key(context)}

    done = subprocess.run(["sh", "-c", command], input=json.dumps(event), env=environment, capture_output=True, text=True, check=True)

    assert "constitution" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_the_plugin_is_whole_and_says_the_same_as_the_command(home: Path) -> None:
    """The shape that is documented for plugins, and the same hooks, tools and skill either way."""
    plugin = folder() / "claude-code"
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    market = json.loads((folder().parent / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    server = json.loads((plugin / ".mcp.json").read_text("utf-8"))["mcpServers"]["remembrancer"]
    write(plan_changes("claude-code", wanted(home)))
    settings = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]

    assert manifest["name"] == market["plugins"][0]["name"] == "remembrancer"
    assert (folder().parent / market["plugins"][0]["source"]).resolve() == plugin.resolve()
    assert [_bare(settings), list(settings)] == [_bare(hooks), list(hooks)]
    for groups in hooks.values():
        words = shlex.split(groups[0]["hooks"][0]["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(plugin)))
        assert words[:3] == ["python3", "-I", "-S"]
        assert Path(words[3]).is_file()
    assert server["url"].endswith("/mcp")
    assert (plugin / "skills" / "memory" / "SKILL.md").read_text("utf-8") == tree(home)[".claude/skills/remembrancer-memory/SKILL.md"]


def _bare(hooks: dict[str, Any]) -> list[Any]:
    """Matchers and times, without the command."""
    return [
        (event, [group.get("matcher")], [one["timeout"] for one in group["hooks"]]) for event, groups in hooks.items() for group in groups
    ]


def test_agents_without_the_package_can_use_the_program(home: Path, dead_url: str) -> None:
    """The hook runs with only the standard library on its path."""
    said = Agent(home, dead_url, "sk_0").at("SessionStart")

    assert context(said) == ""
    assert "does not answer" in said["systemMessage"]
