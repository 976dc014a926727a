"""Permission checks before tool calls, and log entries after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hook_paths import Location, accessed_paths
from integrations.agent import Agent, denial
from service import Http, new_key

from remembrancer.context import Context

PROJECT, HOME = "/Users/ada/garden", "/Users/ada"


def paths(
    command: str, tool: str = "Bash", project: str = PROJECT, home: str = HOME
) -> list[tuple[str, str]]:
    """Return the system paths and actions of a command, reads too."""
    location = Location(project, [project], home, reads=True)
    return accessed_paths(tool, {"command": command}, location)


def grant(owner: Http, scope: str, *actions: str, agent: str = "claude-code") -> str:
    """Grant a permission for half an hour; return its id."""
    body = {"scope": scope, "ttl_minutes": 30, "actions": list(actions), "agent": agent}
    return str(owner.post("/api/v7/sysperm/grant", body).json()["grant_id"])


def entries(owner: Http) -> list[tuple[Any, ...]]:
    """Return the audit trail, oldest first: kind, path, action, result."""
    answer = owner.get("/api/v7/sysperm/audit").json()["entries"]
    return [
        (entry["kind"], entry.get("path"), entry.get("action"), entry.get("result"))
        for entry in sorted(answer, key=lambda entry: entry["seq"])
    ]


def test_system_file_needs_a_grant_and_is_logged(agent: Agent, owner: Http) -> None:
    """PreToolUse checks system paths; PostToolUse logs (specification.md#turn-system-files)."""
    before_grant = denial(agent.trigger("PreToolUse-Write"))
    grant(owner, "/etc/nginx/", "write")
    after_grant = agent.trigger("PreToolUse-Write")
    agent.trigger("PostToolUse-Write")

    assert "No grant lets `claude-code` write /etc/nginx/nginx.conf" in before_grant
    assert after_grant == {}  # the user's own rules decide if it runs
    assert [kind for kind, *_ in entries(owner)] == ["check", "grant", "check", "log"]
    assert entries(owner)[-1][1:] == ("/etc/nginx/nginx.conf", "write", "Write: done")


def test_ordinary_calls_are_not_checked(agent: Agent, owner: Http) -> None:
    assert agent.trigger("PreToolUse") == {}
    assert agent.trigger("PostToolUse") == {}
    assert entries(owner) == []


def test_every_path_of_a_command_needs_a_grant(agent: Agent, owner: Http) -> None:
    agent.environment["REMEMBRANCER_HOOK_GATE"] = "all"
    grant(owner, "/etc/nginx/", "read")
    command = {"command": "cp /etc/nginx/nginx.conf /etc/hosts.allow"}

    before_grant = denial(agent.trigger("PreToolUse", tool_input=command))
    grant(owner, "/etc/hosts.allow", "write")
    after_grant = agent.trigger("PreToolUse", tool_input=command)
    agent.trigger(
        "PostToolUse",
        tool_input=command,
        tool_response={"stdout": "", "stderr": "", "interrupted": True},
    )

    assert "write /etc/hosts.allow" in before_grant
    assert after_grant == {}
    assert [
        (path, action, result) for kind, path, action, result in entries(owner) if kind == "log"
    ] == [
        ("/etc/nginx/nginx.conf", "read", "Bash: it failed"),
        ("/etc/hosts.allow", "write", "Bash: it failed"),
    ]


def test_unreported_action_is_logged_at_the_end_of_the_turn(agent: Agent, owner: Http) -> None:
    grant(owner, "/etc/nginx/", "write")

    agent.trigger("PreToolUse-Write")
    agent.turn("Go on.", "Done.")

    assert entries(owner)[-1] == (
        "log",
        "/etc/nginx/nginx.conf",
        "write",
        "The call was allowed; the agent did not report its result.",
    )


def test_grant_of_another_agent_does_not_apply(agent: Agent, owner: Http) -> None:
    grant(owner, "/etc/nginx/", "write", agent="deployer")

    assert denial(agent.trigger("PreToolUse-Write"))
    agent.environment["REMEMBRANCER_HOOK_AGENT"] = "deployer"
    assert agent.trigger("PreToolUse-Write") == {}


def test_setting_decides_about_system_files_without_the_service(home: Path, dead_url: str) -> None:
    """Permissions fail closed (specification.md#turn-system-files)."""
    for name, setting, is_denied in (
        ("PERMISSIONS", "closed", True),
        ("PERMISSIONS", "open", False),
        ("GATE", "all", True),
        ("GATE", "off", False),
    ):
        offline = Agent(home, dead_url, "sk_0")
        offline.environment[f"REMEMBRANCER_HOOK_{name}"] = setting
        assert bool(denial(offline.trigger("PreToolUse-Write"))) is is_denied, setting
        assert offline.trigger("PreToolUse") == {}  # no system file: no check


def test_installer_s_choice_holds_unless_the_environment_says_otherwise(
    home: Path, dead_url: str
) -> None:
    agent = Agent(home, dead_url, "sk_0", options=("--gate=off",))

    assert agent.trigger("PreToolUse-Write") == {}
    agent.environment["REMEMBRANCER_HOOK_GATE"] = "writes"
    assert denial(agent.trigger("PreToolUse-Write"))


def test_rejected_key_and_invalid_settings_deny_the_call(
    home: Path, service_url: str, context: Context
) -> None:
    """An unknown value of a setting does not mean `off`."""
    stranger = Agent(home, service_url, "sk_0", REMEMBRANCER_HOOK_PERMISSIONS="open")
    assert "401" in denial(stranger.trigger("PreToolUse-Write"))

    for name in (
        "REMEMBRANCER_HOOK_PERMISSIONS",
        "REMEMBRANCER_HOOK_GATE",
        "REMEMBRANCER_HOOK_TOKENS",
    ):
        agent = Agent(home, service_url, new_key(context))
        agent.environment[name] = "clsoed"
        assert name in denial(agent.trigger("PreToolUse-Write"))


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
def test_system_paths_of_a_command(command: str, expected: list[tuple[str, str]]) -> None:
    """Each system path in a command is checked (specification.md#turn-system-files)."""
    assert paths(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/hosts /etc/resolv.conf",
        "ls -la /etc /root /Users/bob",
        "tail -n 50 /var/log/syslog",
        "openssl x509 -noout -dates -in /etc/ssl/certs/ca-certificates.crt",
        "grep -rn server_name /etc/nginx",
        "cat ~/.ssh/config ~/.ssh/known_hosts ~/.ssh/id_ed25519.pub",
        "ls ~/.ssh ~/.aws",
        "find /etc -name '*.conf'",
        "du -sh / && df -h /var",
        "cp /etc/nginx/nginx.conf nginx.conf",
        "python3 -c \"print(open('/etc/os-release').read())\"",
        "nginx -t -c /etc/nginx/nginx.conf",
        "cat certs/server.key",
    ],
)
def test_a_read_of_what_is_no_secret_needs_no_grant(command: str) -> None:
    location = Location(PROJECT, [PROJECT], HOME)

    assert accessed_paths("Bash", {"command": command}, location) == []


@pytest.mark.parametrize(
    ("command", "secret"),
    [
        ("cat /etc/shadow", "/etc/shadow"),
        ("cat /etc/shad*", "/etc/shadow"),
        ("head -c 100 /etc/*", "/etc/shadow"),
        ("cd /etc; cat shadow", "/etc/shadow"),
        ("cp ~/.ssh/id_rsa k", "/Users/ada/.ssh/id_rsa"),
        ("tar czf keys.tgz ~/.ssh", "/Users/ada/.ssh"),
        ("cat ~/.aws/credentials", "/Users/ada/.aws/credentials"),
        ("cat /Users/bob/.netrc", "/Users/bob/.netrc"),
        ("less /etc/ssl/private/site.key", "/etc/ssl/private/site.key"),
        ("base64 /etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ed25519_key"),
        ("grep -r password /etc", "/etc"),
        ("rsync -a / backup/", "/"),
        ("aws s3 sync /etc s3://bucket/etc", "/etc"),
        ("dd if=/dev/sda of=disk.img", "/dev/sda"),
        ("python3 -c \"open('/etc/shadow').read()\"", "/etc/shadow"),
        ("ssh -i /etc/ssl/private/deploy.key host", "/etc/ssl/private/deploy.key"),
        ("printf '/etc/shadow\\n' | tar -cf x.tar -T -", "/etc/shadow"),
    ],
)
def test_a_read_of_a_secret_needs_a_grant(command: str, secret: str) -> None:
    location = Location(PROJECT, [PROJECT], HOME)

    assert accessed_paths("Bash", {"command": command}, location) == [(secret, "read")]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("shell__run_command", {"command": "echo x > /etc/aa"}, ("/etc/aa", "write")),
        ("shell__exec", {"command": "rm", "args": ["-rf", "/srv/a"]}, ("/srv/a", "delete")),
        ("fs__write_file", {"path": "/etc/aa", "content": "/* a */"}, ("/etc/aa", "write")),
        ("fs__edit", {"edits": [{"filePath": "../../../etc/aa"}]}, ("/etc/aa", "write")),
        ("fs__delete_path", {"uri": "file:/etc/aa"}, ("/etc/aa", "delete")),
        ("fs__read_files", {"paths": ["a.py", "/etc/shadow"]}, ("/etc/shadow", "read")),
        ("fs__read_file", {"path": "/etc/hosts"}, None),
        ("fs__list_directory", {"path": "/etc"}, None),
        ("fs__write_file", {"path": "src/a.py", "content": "/etc/aa"}, None),
        ("web__fetch", {"url": "https://example.org/etc/aa"}, None),
        ("remembrancer__remember", {"text": "rm /etc/aa"}, None),
    ],
)
def test_tools_of_other_mcp_servers_are_checked(
    tool: str, arguments: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    """Names tell what a tool does; one whose name does not may write."""
    location = Location(PROJECT, [PROJECT], HOME)

    assert accessed_paths(f"mcp__{tool}", arguments, location) == [expected] * bool(expected)


def test_symbolic_link_out_of_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "conf").symlink_to("/etc")

    answer = accessed_paths(
        "Write",
        {"file_path": str(tmp_path / "conf" / "aa")},
        Location(str(tmp_path), [str(tmp_path)], HOME),
    )

    assert answer == [("/etc/aa", "write")]


def test_project_below_a_system_folder_needs_no_grant() -> None:
    assert paths("rm -rf /srv/app/build", project="/srv/app") == []
    assert paths("rm -rf /srv/other", project="/srv/app") == [("/srv/other", "delete")]
    assert paths("rm /etc/aa", project="/") == [
        ("/etc/aa", "delete")
    ]  # the root folder is not a project


def test_home_of_root_needs_a_grant_except_agent_folders() -> None:
    root = "/root"

    assert paths(f"cat {root}/.bashrc", home=root) == [(f"{root}/.bashrc", "read")]
    assert paths(f"cat {root}/.claude/settings.json", home=root) == []


def test_too_many_system_files_in_one_call_are_denied(agent: Agent) -> None:
    arguments = {"command": "touch " + " ".join(f"/etc/a{n}" for n in range(30))}

    assert "more than 20 system files" in denial(agent.trigger("PreToolUse", tool_input=arguments))
