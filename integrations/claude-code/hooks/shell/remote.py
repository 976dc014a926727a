"""Containers and other machines: the files of this machine that they reach."""

from __future__ import annotations

import re

from .calls import Call
from .values import UNKNOWN, UNKNOWNS, plain, script_text

_LOCAL_HOSTS = re.compile(r"(?:.*@)?(?:localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0|0)")


def ssh_command(call: Call) -> str:
    """Check ssh: the script that it runs on this machine or on a server."""
    options, words = call.options("bcDEeFIiJLlmOopQRSWwP", stops=True)
    for name, value in options:
        match = re.match(r"(?i)(?:proxycommand|localcommand|knownhostscommand)[= ]+(.*)", value)
        if name == "o" and match:
            call.script(match[1])
        if name == "E":
            call.write(value)
        if name in ("i", "F"):
            call.read(value)
    if not words:
        return UNKNOWN
    host, command = words[0], words[1:]
    _, command = Call(call.interpreter, ["ssh", *command], call.state, "", "ssh").options(
        "o", stops=True
    )
    script = " ".join(script_text(word) for word in command)
    text = script or ("" if UNKNOWNS.fullmatch(call.stdin) else call.stdin)
    if _LOCAL_HOSTS.fullmatch(plain(host)):
        call.script(text)
        return UNKNOWN
    # A server's files: changes of them need a grant, too. Relative paths are in a home there.
    interpreter = call.interpreter
    before = dict(interpreter.targets)
    state = call.state.copy()
    state.cwds = [UNKNOWN]
    interpreter.script(text, state, call.stdin)
    for target in list(interpreter.targets):
        if target not in before and target[1] not in ("write", "delete"):
            del interpreter.targets[target]
    return UNKNOWN


_CONTAINER_VALUES = (
    "volume mount name network env env-file workdir user publish entrypoint platform label device "
    "add-host cpus memory hostname ipc pid restart runtime shm-size ulimit gpus file project-name "
    "tag target build-arg output namespace context container pull expose link log-driver"
)


def container_command(call: Call) -> str:
    """Check docker and podman: mounted folders, copies, and ways out of a container."""
    options, words = call.options("vepwuhlmaftons", _CONTAINER_VALUES)
    for name, value in options:
        text = plain(value)
        if name in ("v", "volume") and ":" in text:
            source, _, rest = value.partition(":")
            _mount(call, source, is_readonly="ro" in plain(rest).partition(":")[2].split(","))
        elif name == "mount":
            parts = dict(part.partition("=")[::2] for part in text.split(","))
            source = parts.get("source") or parts.get("src") or ""
            _mount(call, source, is_readonly="readonly" in parts or "ro" in parts)
        elif name == "device":
            call.write(value.partition(":")[0])
        elif name == "output" or (name == "o" and words[:1] != ["ps"]):
            call.write(value.rpartition("dest=")[2])
    action = words[0] if words else ""
    if action in ("cp", "save", "export") or words[:2] == ["container", "cp"]:
        paths = words[words.index("cp") + 1 :] if "cp" in words else []
        for path in paths[:-1]:
            if ":" not in path:
                call.read(path)
        if paths and ":" not in paths[-1]:
            call.write(paths[-1])
    for position, word in enumerate(call.arguments):
        if word in ("nsenter", "chroot"):
            call.run(call.arguments[position:])
            break
    return UNKNOWN


def _mount(call: Call, source: str, *, is_readonly: bool) -> None:
    if source.endswith(".sock") or not source.startswith(("/", "~", ".")):
        return
    if is_readonly:
        call.read(source)
    else:
        call.write(source)


def kubectl_command(call: Call) -> str:
    """Check kubectl: what it copies to this machine."""
    words = call.options("fnlco", "filename namespace context")[1]
    if words[:1] == ["cp"] and len(words) > 2 and ":" not in words[2]:
        call.write(words[2])
    return UNKNOWN
