"""Write tool output around given lines: test runs, tracebacks, diffs, listings, logs, JSON, source.

Every text depends on its seed and arguments alone. The lines around are templates with words of the
project; the given lines are what a question may ask for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random

_VERBS = ("load", "store", "merge", "check", "build", "read", "write", "update", "close", "count")
_NOUNS = ("batch", "entry", "page", "item", "window", "group", "record", "state", "plan", "total")
_STEPS = ("resolve", "prepare", "compile", "fetch", "verify", "copy", "link", "start")


def tool_turns(tool: str, argument: str, modules: Sequence[str], seed: str) -> tuple[str, str]:
    """Return the call of a tool and its result. Raises ValueError for an unknown tool."""
    if tool not in _TOOLS:
        raise ValueError(f"unknown tool {tool!r}; known are {', '.join(_TOOLS)}")
    parts = [part.strip().replace("\\p", "|") for part in argument.split(" | ")]
    return _TOOLS[tool](parts, modules, Random(seed))


def _name(random: Random) -> str:
    return f"{random.choice(_VERBS)}_{random.choice(_NOUNS)}"


def _file(modules: Sequence[str], random: Random) -> str:
    return f"{random.choice(modules)}/{_name(random)}.py"


def _pytest(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    test, error = parts
    path, _, name = test.partition("::")
    passed, line = random.randint(20, 150), random.randint(15, 190)
    dots = "." * random.randint(10, 60)
    return f"I run the tests: `pytest -q {path}`", "\n".join(
        [
            f"{dots}F{dots[: len(dots) // 2]} [100%]",
            "=" * 30 + " FAILURES " + "=" * 30,
            "_" * 20 + f" {name} " + "_" * 20,
            "",
            f"    async def {name}(client, {random.choice(_NOUNS)}):",
            f"        {random.choice(_NOUNS)} = await {_name(random)}(client)",
            f">       result = {_name(random)}(client, {random.randint(1, 90)})",
            "",
            f"{path}:{line}:",
            "_ " * 34,
            f"{_file(modules, random)}:{random.randint(9, 300)}: in {_name(random)}",
            f"    return self._{_name(random)}({random.choice(_NOUNS)})",
            f"E       {error}",
            "=" * 26 + " short test summary info " + "=" * 26,
            f"FAILED {test} - {error.split(':')[0]}",
            f"1 failed, {passed} passed in {random.uniform(1, 40):.2f}s",
        ]
    )


def _pass(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    total = int(parts[0])
    shares = [random.randint(2, 12) for _ in modules]
    lines = [
        f"tests/test_{module}.py {'.' * share} [{min(100, 10 * (at + 1)):3}%]"
        for at, (module, share) in enumerate(zip(modules, shares, strict=True))
    ]
    end = f"{total} passed in {random.uniform(2, 60):.2f}s"
    return "I run the whole suite: `pytest`", "\n".join([*lines, "", end])


def _trace(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    place, error = parts
    file_line, _, function = place.partition(" ")
    path, _, line = file_line.partition(":")
    frames = []
    for _ in range(random.randint(3, 6)):
        frames += [
            f'  File "{_file(modules, random)}", line {random.randint(5, 400)}, in {_name(random)}',
            f"    {random.choice(_NOUNS)} = self.{_name(random)}({random.choice(_NOUNS)})",
        ]
    return "I look at the log of the error.", "\n".join(
        [
            "Traceback (most recent call last):",
            *frames,
            f'  File "{path}", line {line}, in {function}',
            f"    {_name(random)}({random.choice(_NOUNS)})",
            error,
        ]
    )


def _diff(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    path, old, new = parts
    line = random.randint(10, 160)
    head = [f" from {random.choice(modules)} import {_name(random)}" for _ in range(2)]
    foot = [f"     {random.choice(_NOUNS)} = {_name(random)}()" for _ in range(2)]
    return f"I change `{path}`.", "\n".join(
        [
            f"diff --git a/{path} b/{path}",
            f"index {random.getrandbits(28):07x}..{random.getrandbits(28):07x} 100644",
            f"--- a/{path}",
            f"+++ b/{path}",
            f"@@ -{line},5 +{line},5 @@",
            *head,
            f"-{old}",
            f"+{new}",
            *foot,
        ]
    )


def _listing(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    folder, names = parts[0], parts[1].split()
    rows = [
        f"{'drwxr-xr-x' if name.endswith('/') else '-rw-r--r--'} 1 dev dev "
        f"{random.randint(90, 60_000):7} {random.choice(('Jan', 'Sep', 'Nov'))} "
        f"{random.randint(1, 28):2} {name}"
        for name in names
    ]
    rows += [f"drwxr-xr-x 1 dev dev    4096 Jan  2 {module}/" for module in modules[:4]]
    return f"`ls -l {folder}`", "\n".join([f"total {random.randint(20, 400)}", *rows])


def _log(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    subjects = list(parts)
    for _ in range(5):
        subject = f"{random.choice(modules)}: {_name(random).replace('_', ' ')}"
        subjects.insert(random.randint(0, len(subjects)), subject)
    rows = [f"{random.getrandbits(28):07x} {subject}" for subject in subjects]
    return "`git log --oneline`", "\n".join(rows)


def _json(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    values = dict(pair.split("=", 1) for pair in parts[0].split())
    other: dict[str, object] = {
        f"{random.choice(modules)}_{random.choice(_NOUNS)}": random.randint(0, 9_999)
        for _ in range(6)
    }
    return "I ask for the values.", json.dumps({"status": "ok", **other, **values}, indent=2)


def _shell(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    del modules, random
    return f"I run `{parts[0]}`.", f"$ {parts[0]}\n{' | '.join(parts[1:])}"


def _build(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    command, *lines = parts
    rows = [
        f"[{at:02}:{random.randint(0, 59):02}] {random.choice(_STEPS)} {random.choice(modules)} "
        f"({random.randint(2, 900)} ms)"
        for at in range(random.randint(8, 18))
    ]
    at = random.randint(len(rows) // 2, len(rows))
    return f"I run `{command}`.", "\n".join(["$ " + command, *rows[:at], *lines, *rows[at:]])


def _read(parts: list[str], modules: Sequence[str], random: Random) -> tuple[str, str]:
    (path,) = parts
    rows = [f'"""{path.rsplit("/", 1)[-1]}: {random.choice(_NOUNS)}s of {modules[0]}."""', ""]
    for _ in range(random.randint(3, 6)):
        noun = random.choice(_NOUNS)
        rows += [
            "",
            f"def {_name(random)}({noun}, *, {random.choice(_NOUNS)}=None):",
            f'    """Return the {noun} of {random.choice(modules)}."""',
            f"    {noun}s = [{_name(random)}(one) for one in {noun}.parts]",
            f"    if not {noun}s:",
            f'        raise LookupError(f"no {noun} in {{{noun}!r}}")',
            f"    return {_name(random)}({noun}s)[: {random.randint(1, 64)}]",
        ]
    return f"I read `{path}`.", "\n".join(rows)


_TOOLS: dict[str, Callable[[list[str], Sequence[str], Random], tuple[str, str]]] = {
    "pytest": _pytest,
    "pass": _pass,
    "trace": _trace,
    "diff": _diff,
    "ls": _listing,
    "log": _log,
    "json": _json,
    "sh": _shell,
    "build": _build,
    "read": _read,
}
