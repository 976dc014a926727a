"""Runs what the documentation shows: every fenced block of a page, in order, against a real server.

    ```sh           run by bash; $KEY and $URL are set, http://127.0.0.1:8460 is the server's real address
    ```json         must be JSON
    ```json title="Response"  must have the shape (keys and types) of the output of the last `sh` block
    ```jsonl title="NAME"     must be JSON lines; later blocks of the page find it as the file NAME
    ```python       run; http://127.0.0.1:11434 is the address of a model that stands for a real one (examples/scripted_model.py)
    ```toml         must be settings that the service takes
    ```sql          named queries that the store takes
    ```text         a drawing or an excerpt: nothing to run

Lines that set up a machine (git clone, make, apt-get, ...) are checked, not run. `<!-- not run:
REASON -->` above a block is the only other way out, and is counted by a test.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from architecture.tree import ROOT

from remembrancer.settings import read
from remembrancer.store import Transaction, open_store
from remembrancer.store.queries import Queries

WRITTEN_ADDRESS = "http://127.0.0.1:8460"
MODEL_ADDRESS = "http://127.0.0.1:11434"
RESPONSE = "Response"  # the title of a block that shows a server's response
SECONDS_MAX = 60  # for one block
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+) -->\n+)?^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# the form that the site generator reads too
_INFO = re.compile(r'(?P<language>\S*)( title="(?P<title>[^"]+)")?')
_TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
_SET_UP = {  # the first word of a line that sets up a machine -> what the rest may be
    "git": r"clone \S+( \w+)?",
    "cd": r"\w+",
    "make": rf"({'|'.join(sorted(_TARGETS))})( [A-Z]+=\S+)*",
    "sudo": r"apt-get install -y [a-z0-9. -]+",
    "export": r"KEY=\S+",
    ".": r"\.venv/bin/activate",
}


class Wrong(AssertionError):
    """The documentation shows something that is not so; the message says where and what."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page. `title` is the value of `title="…"`, or empty."""

    place: str
    language: str
    title: str
    text: str
    reason: str | None  # why it is not run


def blocks(page: str, name: str) -> list[Block]:
    """The blocks of a page in order.

    Raises Wrong for a fence that is indented, unclosed or without a language.
    """
    found = []
    for match in _BLOCK.finditer(page):
        place = f"{name}:{page.count(chr(10), 0, match.start('info')) + 1}"
        info = _INFO.fullmatch(match["info"].strip())
        if info is None:
            raise Wrong(
                f'{place}: a fence names a language and at most title="…", not {match["info"]!r}'
            )
        found.append(
            Block(place, info["language"], info["title"] or "", match["text"], match["reason"])
        )
    fences = len(re.findall(r"^\s*(```|~~~)", page, re.MULTILINE))
    if fences != 2 * len(found):
        raise Wrong(
            f"{name}: {fences} fences, but {len(found)} blocks that begin and end at the start of a line with ```"
        )
    return found


class Runner:
    """Runs the blocks of one page, one after another, in one folder."""

    def __init__(
        self, folder: Path, *, url: str, key: str, data: Path, model_url: str = MODEL_ADDRESS
    ) -> None:
        self.folder, self.url, self.key, self.data, self.model_url = (
            folder,
            url,
            key,
            data,
            model_url,
        )
        self._printed: str | None = None  # by the block before, if that was `sh`

    def run(self, block: Block) -> None:
        """Run or check one block. Raises Wrong."""
        printed, self._printed = self._printed, None
        if block.reason is not None:
            return
        step = getattr(self, f"_{block.language}", None) if block.language.isidentifier() else None
        if step is None:
            raise Wrong(
                f"{block.place}: a block needs a language that is known here, not {block.language!r}"
            )
        try:
            if block.language == "json" and block.title == RESPONSE:
                _compare(json.loads(block.text), printed)
            else:
                step(block)
        except Exception as error:
            raise Wrong(f"{block.place}: {type(error).__name__}: {error}") from error

    def _sh(self, block: Block) -> None:
        script = "".join(f"{line}\n" for line in _commands(block.text) if not _sets_up(line))
        self._printed = (
            self._process(["bash", "-euo", "pipefail", "-c", self._addressed(script)])
            if script
            else None
        )

    def _python(self, block: Block) -> None:
        self._process([sys.executable, "-W", "error", "-c", self._addressed(block.text)])

    def _json(self, block: Block) -> None:
        json.loads(block.text)

    def _jsonl(self, block: Block) -> None:
        for line in block.text.splitlines():
            json.loads(line)
        (self.folder / block.title).write_text(block.text, "utf-8")

    def _toml(self, block: Block) -> None:
        file = self.folder / "block.toml"
        file.write_text(block.text, "utf-8")
        read({"REMEMBRANCER_CONFIG": str(file)})

    def _sql(self, block: Block) -> None:
        store = open_store(f"sqlite:{self.folder / 'block.sqlite3'}")
        try:
            for statement in vars(Queries(block.text, block.place)).values():
                values = dict.fromkeys(re.findall(r"(?<!:):([a-z_]+)", statement))
                store.read(partial(_explain, statement, values))
        finally:
            store.close()

    def _text(self, block: Block) -> None:
        """A drawing: nothing to run."""

    def _addressed(self, text: str) -> str:
        return text.replace(WRITTEN_ADDRESS, self.url).replace(MODEL_ADDRESS, self.model_url)

    def _process(self, words: list[str]) -> str:
        """What it prints. Raises Wrong when it fails."""
        own = {
            "KEY": self.key,
            "URL": self.url,
            "REMEMBRANCER_DATA": str(self.data),
            "HOME": str(self.folder),
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, **own, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_MAX,
        )
        if done.returncode:
            raise Wrong(f"exit status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


def _explain(statement: str, values: dict[str, None], tx: Transaction) -> None:
    tx.all(f"explain {statement}", **values)


def _commands(script: str) -> Iterator[str]:
    """Its lines, continued ones as one, without comments and empty ones.

    `serve` would not end, so only its words are checked.
    """
    for line in re.split(r"(?<!\\)\n", script):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"{line} --help" if re.match(r"remembrancer serve\b", line) else line


def _sets_up(line: str) -> bool:
    """Whether the line only sets up a machine. Raises Wrong where it would not work as written."""
    parts = [shlex.split(part, comments=True) for part in line.split("&&")]
    if not parts[0] or parts[0][0] not in _SET_UP:
        return False
    for first, *rest in parts:
        if first not in _SET_UP or not re.fullmatch(_SET_UP[first], " ".join(rest)):
            raise Wrong(f"`{' '.join([first, *rest])}` is nothing that this project has")
    return True


def _compare(shown: Any, printed: str | None) -> None:
    if printed is None:
        raise Wrong(
            "this is shown as an answer, but no `sh` block that prints something stands before it"
        )
    if different := list(differences(shown, json.loads(printed))):
        raise Wrong(f"the real answer is another one ({'; '.join(different)}): {printed}")


def differences(shown: Any, real: Any, at: str = "") -> Iterator[str]:
    """Where two JSON values differ in shape:

    keys and types, not values. null fits everything; a list is as its items together.
    """
    if isinstance(shown, dict) and isinstance(real, dict):
        for name in sorted(set(shown) ^ set(real)):
            yield f"{at}/{name} is {'shown but not there' if name in shown else 'there but not shown'}"
        for name in sorted(set(shown) & set(real)):
            yield from differences(shown[name], real[name], f"{at}/{name}")
    elif isinstance(shown, list) and isinstance(real, list):
        if bool(shown) != bool(real):
            yield f"{at} is {'empty' if shown else 'not empty'}"
        elif shown:
            yield from differences(_together(shown), _together(real), f"{at}/*")
    elif shown is not None and real is not None and _kind(shown) != _kind(real):
        yield f"{at} is {_kind(real)}, not {_kind(shown)}"


def _together(items: list[Any]) -> Any:
    """One item with the members of all, so that one which has them all stands for those that lack
    some.
    """
    objects = [item for item in items if isinstance(item, dict)]
    return (
        {name: value for item in objects for name, value in item.items()} if objects else items[0]
    )


def _kind(value: Any) -> str:
    """JSON's word for it; 1 and 1.0 are both a number, true is none."""
    names = {
        bool: "boolean",
        int: "number",
        float: "number",
        str: "string",
        dict: "object",
        list: "array",
    }
    return names[type(value)]
