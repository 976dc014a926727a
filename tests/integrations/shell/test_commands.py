"""Shell commands that change system files in unusual ways, and ordinary ones that do not.

The tables are in `commands/`. Their second parts were written after the code, with techniques and
programs that the first parts lack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hook_paths import Location, accessed_paths
from integrations.agent import Agent, denial
from service import Http

TABLES = Path(__file__).parent / "commands"
PROJECT, HOME = "/Users/ada/garden", "/Users/ada"


def devious_commands() -> Iterator[tuple[str, str, set[str]]]:
    """Yield each command with its working folder and the paths that it changes."""
    for file in sorted(TABLES.glob("devious_*.txt")):
        for case in file.read_text("utf-8").split("\n=== ")[1:]:
            head, _, command = case.partition("\n")
            paths, _, folder = head.partition(" @ ")
            yield command, folder or PROJECT, set(paths.split())


def ordinary_commands() -> Iterator[str]:
    """Yield the commands of one line, then those of several."""
    for file in sorted(TABLES.glob("ordinary_*.txt")):
        single, _, several = file.read_text("utf-8").partition("=== several lines\n")
        yield from single.splitlines()
        yield from several.rstrip("\n").split("\n===\n")


def accessed(command: str, cwd: str = PROJECT, home: str = HOME) -> list[tuple[str, str]]:
    """Return the system paths and actions of a command."""
    return accessed_paths("Bash", {"command": command}, Location(cwd, [PROJECT], home))


def test_devious_commands_are_held() -> None:
    """Every system path that is changed is checked (specification.md#turn-system-files)."""
    commands = list(devious_commands())
    missed = [
        command
        for command, folder, paths in commands
        if not paths <= {path for path, action in accessed(command, folder) if action != "read"}
    ]

    assert missed == []
    assert len(commands) >= 150


def test_ordinary_commands_are_not_held() -> None:
    commands = list(ordinary_commands())

    assert [command for command in commands if accessed(command)] == []
    assert len(commands) >= 300


def test_ordinary_commands_of_root_are_not_held() -> None:
    """In a container, the user is root; most of root's home is a system folder."""
    project = "/workspace/garden"
    location = Location(project, [project], "/root")

    checked = [
        command
        for command in ordinary_commands()
        if not re.search(r"~|\$HOME", command)
        and accessed_paths("Bash", {"command": command}, location)
    ]

    assert checked == []


def test_command_that_cannot_be_parsed_is_held_if_it_mentions_a_system_path() -> None:
    for command in (
        "if true; then cat /etc/aa",
        "echo 'x /etc/aa",
        "for x in a b; echo /etc/aa",
        "case x in a) cp /etc/aa b",
        "((( cp x /etc/aa",
        "f() { cp x /etc/aa",
        "cat /et'c/aa'; fi",
        '"$(' * 50 + "/etc/aa",
        "bash -c 'if /etc/aa'",
        "python3 -c 'if /etc/aa'",
    ):
        assert ("/etc/aa", "write") in accessed(command), command
    for command in (
        "if true; then cat src/a",
        "echo 'x",
        "((( cp x",
        "python3 -c 'if'",
        "fi; done",
    ):
        assert accessed(command) == [], command


@pytest.mark.parametrize(
    "command",
    [
        '"$(' * 9_000,
        "eval " * 3_000 + "x",
        'x=\'eval "$x$x"\'; eval "$x"',
        "for i in 1 2; do " * 30 + "x" + "; done" * 30,
        "a | " * 20_000 + "b",
        "echo a > b; " * 30_000,
        "python3 - <<EOF\nx=''\n" + "x = x + '/' + x\n" * 60 + "open(x, 'w')\nEOF",
    ],
)
def test_command_that_takes_too_long_to_read_needs_a_grant_to_run_it(command: str) -> None:
    """The agent would run the command if the hook took longer than the agent waits."""
    assert ("/bin/sh", "exec") in accessed(command)


def test_line_ends_of_other_systems_are_read() -> None:
    lines = ["cat > a <<EOF", "EOF", "cd /etc", "echo x > aa", ""]

    for line_end in ("\n", "\r\n", "\r"):
        assert ("/etc/aa", "write") in accessed(line_end.join(lines))


def test_nul_is_ignored_like_in_a_shell() -> None:
    assert accessed("echo x > /e\0tc/aa") == [("/etc/aa", "write")]


def test_link_in_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "conf").symlink_to("/etc")
    location = Location(str(tmp_path), [str(tmp_path)], HOME)

    for command in ("echo x > conf/aa", "cd conf && touch aa", "rm c*f/aa", "cp a ./conf//aa"):
        targets = accessed_paths("Bash", {"command": command}, location)
        assert [path for path, _ in targets] == ["/etc/aa"], command
    assert accessed_paths("Bash", {"command": "rm conf"}, location) == []  # the link itself


def test_patch_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "fix.diff").write_text("--- a/x\n+++ /etc/aa\n@@ -1 +1 @@\n-a\n+b\n")
    location = Location(str(tmp_path), [str(tmp_path)], HOME)

    for command in ("patch -p0 -i fix.diff", "git apply fix.diff", "patch -p0 < fix.diff"):
        assert ("/etc/aa", "write") in accessed_paths("Bash", {"command": command}, location)


def test_variables_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_FOLDER", "/etc")

    assert accessed("echo x > $TARGET_FOLDER/aa") == [("/etc/aa", "write")]


def test_folder_of_the_call_is_used() -> None:
    """Codex and Cursor name the working folder of a command in its arguments."""
    for name in ("workdir", "working_directory"):
        call = {"command": "rm aa", name: "/etc"}
        location = Location(PROJECT, [PROJECT], HOME)
        assert accessed_paths("shell", call, location) == [("/etc/aa", "delete")]


def test_grant_of_a_folder_covers_an_unknown_name_in_it(agent: Agent, owner: Http) -> None:
    """A part of a path that only a run would show is `(unknown)` in checks and the audit trail."""
    script = 'for file in $(list-sites); do cp "$file" "/etc/nginx/$file"; done'
    command = {"command": script}
    grant = {"ttl_minutes": 30, "actions": ["write"], "agent": "claude-code"}

    before_grant = denial(agent.trigger("PreToolUse", tool_input=command))
    owner.post("/api/v7/sysperm/grant", {**grant, "scope": "/etc/nginx/"})
    after_grant = agent.trigger("PreToolUse", tool_input=command)

    assert "write /etc/nginx/(unknown), a system file" in before_grant
    assert "scope `/etc/nginx/*`" in before_grant
    assert after_grant == {}


def test_script_that_cannot_be_read_needs_a_grant_to_run_it(agent: Agent) -> None:
    command = {"command": "base64 -d payload.txt | sh"}

    assert "exec /bin/sh" in denial(agent.trigger("PreToolUse", tool_input=command))
