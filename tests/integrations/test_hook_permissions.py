"""System files are touched only under a grant: the hook before a tool call, and the log after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hook_paths import Place, touched
from integrations.agent import Agent, denial
from service import Http, new_key

from remembrancer.context import Context

PROJECT, HOME = "/Users/ada/garden", "/Users/ada"


def paths(command: str, tool: str = "Bash", project: str = PROJECT, home: str = HOME) -> list[tuple[str, str]]:
    """What a command touches of the system."""
    return touched(tool, {"command": command}, Place(project, [project], home))


def grant(owner: Http, scope: str, *actions: str, agent: str = "claude-code") -> str:
    """A grant for half an hour; its id."""
    body = {"scope": scope, "ttl_minutes": 30, "actions": list(actions), "agent": agent}
    return str(owner.post("/api/v7/sysperm/grant", body).json()["grant_id"])


def entries(owner: Http) -> list[tuple[Any, ...]]:
    """The audit trail, oldest first: kind, path, action, result."""
    found = owner.get("/api/v7/sysperm/audit").json()["entries"]
    return [(one["kind"], one.get("path"), one.get("action"), one.get("result")) for one in sorted(found, key=lambda one: one["seq"])]


def test_a_system_file_needs_a_grant_and_what_was_done_is_logged(agent: Agent, owner: Http) -> None:
    """Issue: 'PreToolUse → permission check for system paths; PostToolUse → log'."""
    denied = denial(agent.at("PreToolUse-Write"))
    grant(owner, "/etc/nginx/", "write")
    allowed = agent.at("PreToolUse-Write")
    agent.at("PostToolUse-Write")

    assert "No grant lets `claude-code` write /etc/nginx/nginx.conf" in denied
    assert allowed == {}  # whether it runs is still for the user to say
    assert [kind for kind, *_ in entries(owner)] == ["check", "grant", "check", "log"]
    assert entries(owner)[-1][1:] == ("/etc/nginx/nginx.conf", "write", "Write: done")


def test_ordinary_calls_are_not_asked_about(agent: Agent, owner: Http) -> None:
    assert agent.at("PreToolUse") == {}
    assert agent.at("PostToolUse") == {}
    assert entries(owner) == []


def test_every_path_of_a_command_needs_its_grant(agent: Agent, owner: Http) -> None:
    grant(owner, "/etc/nginx/", "read")
    command = {"command": "cp /etc/nginx/nginx.conf /etc/hosts.allow"}

    denied = denial(agent.at("PreToolUse", tool_input=command))
    grant(owner, "/etc/hosts.allow", "write")
    allowed = agent.at("PreToolUse", tool_input=command)
    agent.at("PostToolUse", tool_input=command, tool_response={"stdout": "", "stderr": "", "interrupted": True})

    assert "write /etc/hosts.allow" in denied
    assert allowed == {}
    assert [(path, action, result) for kind, path, action, result in entries(owner) if kind == "log"] == [
        ("/etc/nginx/nginx.conf", "read", "Bash: it failed"),
        ("/etc/hosts.allow", "write", "Bash: it failed"),
    ]


def test_an_action_whose_end_nobody_told_is_logged_at_the_end_of_the_turn(agent: Agent, owner: Http) -> None:
    grant(owner, "/etc/nginx/", "write")

    agent.at("PreToolUse-Write")
    agent.turn("Go on.", "Done.")

    assert entries(owner)[-1] == ("log", "/etc/nginx/nginx.conf", "write", "The call was allowed; the agent did not say what came of it.")


def test_a_grant_to_another_agent_is_none(agent: Agent, owner: Http) -> None:
    grant(owner, "/etc/nginx/", "write", agent="deployer")

    assert denial(agent.at("PreToolUse-Write"))
    agent.environment["REMEMBRANCER_HOOK_AGENT"] = "deployer"
    assert agent.at("PreToolUse-Write") == {}


@pytest.mark.parametrize(("setting", "is_denied"), [("closed", True), ("open", False), ("off", False)])
def test_without_the_service_no_system_file_is_touched_unless_the_setting_says_so(
    home: Path, dead_url: str, setting: str, is_denied: bool
) -> None:
    """Issue: 'fails open for recall and closed for permissions'."""
    alone = Agent(home, dead_url, "sk_0", REMEMBRANCER_HOOK_PERMISSIONS=setting)

    assert bool(denial(alone.at("PreToolUse-Write"))) is is_denied
    assert alone.at("PreToolUse") == {}  # no system file, nobody to ask


def test_a_key_that_is_refused_allows_nothing(home: Path, service_url: str) -> None:
    refused = Agent(home, service_url, "sk_0", REMEMBRANCER_HOOK_PERMISSIONS="open")

    assert "401" in denial(refused.at("PreToolUse-Write"))


@pytest.mark.parametrize("settings", [{"REMEMBRANCER_HOOK_PERMISSIONS": "clsoed"}, {"REMEMBRANCER_HOOK_TOKENS": "many"}])
def test_what_cannot_be_judged_is_not_done(home: Path, service_url: str, context: Context, settings: dict[str, str]) -> None:
    """A set-up that cannot be read lets no call pass; a wrong word for the setting is not `off`."""
    wrong = Agent(home, service_url, new_key(context), **settings)

    assert next(iter(settings)) in denial(wrong.at("PreToolUse-Write"))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npm install", []),
        ("cat README.md > notes.txt 2>/dev/null", []),
        ("/usr/bin/python3 -m venv .venv && . .venv/bin/activate", []),
        ("ls /usr/share/dict && cat /usr/include/stdio.h", []),
        ("mkdir -p /tmp/build && cp a /tmp/build/", []),
        ("echo 'see /etc/passwd for more'", []),
        ("git commit -m 'touch /etc/hosts'", []),
        ("curl https://example.org/etc/passwd", []),
        (f"cat {PROJECT}/src/a.py ~/notes.md $HOME/x", []),
        ("grep -r word . | sort | head", []),
        ("cat /etc/hostname", [("/etc/hostname", "read")]),
        ("cat '/etc/hostname'", [("/etc/hostname", "read")]),
        ('cat /e"tc"/hostname', [("/etc/hostname", "read")]),
        ("cat /etc/../etc//hostname", [("/etc/hostname", "read")]),
        ("cat ../../../etc/hostname", [("/etc/hostname", "read")]),
        ("echo x > /etc/motd", [("/etc/motd", "write")]),
        ("echo x >>/etc/motd", [("/etc/motd", "write")]),
        ("echo x 2> /etc/motd", [("/etc/motd", "write")]),
        ("echo x &>/etc/motd", [("/etc/motd", "write")]),
        ("wc -l < /etc/motd", [("/etc/motd", "read")]),
        ("echo x | sudo tee -a /etc/motd", [("/etc/motd", "write")]),
        ("sudo rm -rf /srv/data", [("/srv/data", "delete")]),
        ("rm -rf /srv/{a,b}", [("/srv/a", "delete"), ("/srv/b", "delete")]),
        ("true && rm /boot/x; echo done", [("/boot/x", "delete")]),
        ("mv /etc/aa /tmp/a", [("/etc/aa", "delete")]),
        ("cp a.conf /etc/aa.conf", [("/etc/aa.conf", "write")]),
        ("ln -s a /usr/local/bin/a", [("/usr/local/bin/a", "write")]),
        ("sed -i s/a/b/ /etc/aa.conf", [("/etc/aa.conf", "write")]),
        ("sed -n 1p /etc/aa.conf", [("/etc/aa.conf", "read")]),
        ("dd if=/dev/zero of=/dev/sdz", [("/dev/sdz", "write")]),
        ("tar -xf a.tar -C /srv/a", [("/srv/a", "write")]),
        ("curl -o /etc/aa https://example.org/a", [("/etc/aa", "write")]),
        ("cp -t /etc a b", [("/etc", "write")]),
        ("tar -xf a.tar --directory=/srv/a", [("/srv/a", "write")]),
        ("cd /etc && rm aa.conf", [("/etc/aa.conf", "delete")]),
        ("cd /etc; echo x > aa.conf", [("/etc/aa.conf", "write")]),
        ("x=$(cat /etc/aa)", [("/etc/aa", "read")]),
        ("echo `cat /etc/aa`", [("/etc/aa", "read")]),
        ('echo "now: $(cat /etc/aa)"', [("/etc/aa", "read")]),
        ("sudo -u root rm /etc/aa", [("/etc/aa", "delete")]),
        ("timeout 5 rm /etc/aa", [("/etc/aa", "delete")]),
        ("bash -lc 'cd /etc; rm aa'", [("/etc/aa", "delete")]),
        ("eval 'rm /etc/aa'", [("/etc/aa", "delete")]),
        ("xargs -I {} cp {} /etc/aa", [("/etc/aa", "write")]),
        ("~/.local/bin/uv sync", []),
        ("x=$((1<<EOF)); rm /etc/aa", [("/etc/aa", "delete")]),
        ("bash /root/ops.sh", [("/root/ops.sh", "read")]),
        ("/root/ops.sh --now", [("/root/ops.sh", "exec")]),
        ("cat ~bob/x /Users/bob/x", [("/Users/bob/x", "read")]),
        ("cat ~/.ssh/id_ed25519", [("/Users/ada/.ssh/id_ed25519", "read")]),
        ("find /var/lib/aa -delete", [("/var/lib/aa", "delete")]),
        ("FOO=1 env BAR=2 chmod 600 /etc/aa", [("/etc/aa", "write")]),
        ("cat <<EOF > /etc/aa\n/etc/bb\nEOF", [("/etc/aa", "write")]),
        ("nginx --config=/etc/nginx/aa.conf", [("/etc/nginx/aa.conf", "read")]),
    ],
)
def test_what_a_command_touches_of_the_system(command: str, expected: list[tuple[str, str]]) -> None:
    """Issue: 'permission check for system paths'."""
    assert paths(command) == expected


def test_a_link_out_of_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "conf").symlink_to("/etc")

    found = touched("Write", {"file_path": str(tmp_path / "conf" / "aa")}, Place(str(tmp_path), [str(tmp_path)], HOME))

    assert found == [("/etc/aa", "write")]


def test_a_project_under_a_system_folder_is_still_a_project() -> None:
    assert paths("rm -rf /srv/app/build", project="/srv/app") == []
    assert paths("rm -rf /srv/other", project="/srv/app") == [("/srv/other", "delete")]
    assert paths("rm /etc/aa", project="/") == [("/etc/aa", "delete")]  # a project that is everything is none


def test_the_home_of_root_is_the_system_save_for_the_agents_own_folders() -> None:
    root = "/root"

    assert paths(f"cat {root}/.bashrc", home=root) == [(f"{root}/.bashrc", "read")]
    assert paths(f"cat {root}/.claude/settings.json", home=root) == []


def test_a_patch_names_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n*** Delete File: /etc/aa\n*** Move to: /etc/bb\n*** End Patch"

    assert paths(patch, tool="apply_patch") == [("/etc/aa", "delete"), ("/etc/bb", "write")]


def test_too_many_system_files_at_once_are_refused(agent: Agent) -> None:
    many = {"command": "cat " + " ".join(f"/etc/a{n}" for n in range(30))}

    assert "more than 20 system files" in denial(agent.at("PreToolUse", tool_input=many))


@pytest.mark.parametrize(
    "command",
    [
        "'",
        '"',
        "$(",
        "`",
        "a\\",
        "<<",
        "<<EOF",
        "((",
        ")))",
        ">",
        "\0",
        "🜁" * 5000,
        "a" * 200_000,
        "{a,b}" * 200,
        "ls " + "{a,b}" * 200,
        "<<a\n" * 20_000,
        "bash -c '" * 9,
        '"$(' * 9_000,
    ],
)
def test_no_command_is_too_odd_to_be_read(command: str) -> None:
    assert paths(command) == []
