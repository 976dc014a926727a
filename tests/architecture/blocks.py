"""Run every fenced code block of a documentation page, in order, against a real server.

    ```sh           run by bash; $KEY and $URL are set, http://127.0.0.1:8460 is replaced
                    by the address of the server
    ```json         must be JSON
    ```json title="Response"  must have the shape (keys and types) of the last `sh` output
    ```jsonl title="NAME"     must be JSON lines; later blocks of the page read it as file NAME
    ```python       run; http://127.0.0.1:11434 is replaced by the address of a scripted model
                    (examples/scripted_model.py)
    ```toml         must be valid settings
    ```sql          must be valid named queries of the store
    ```text         a drawing or an excerpt, not run
    ```text title="Output"    what the last `sh` or `python` output is, to the letter

Lines that set up a machine (git clone, make, apt-get, ...) are checked, not run. The only other
exception is `<!-- not run: REASON -->` above a block; a test limits their number. A block under
`<!-- environment: NAME -->` is run by tests/frameworks, with the packages of that environment.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from architecture.tree import ROOT
from command import captured

from remembrancer.settings import read
from remembrancer.store import Transaction, open_store
from remembrancer.store.queries import Queries

WRITTEN_ADDRESS = "http://127.0.0.1:8460"
MODEL_ADDRESS = "http://127.0.0.1:11434"
OUTPUT = "Output"  # and of one that shows what the block before printed
RESPONSE = "Response"  # the title of a block that shows a server's response
SECONDS_MAX = 60  # per block
_BLOCK = re.compile(
    r"(?:^<!-- (?:not run: (?P<reason>.+)|environment: (?P<environment>[a-z0-9-]+)) -->\n+)?"
    r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# the form that the site generator also reads
_INFO = re.compile(r'(?P<language>\S*)( title="(?P<title>[^"]+)")?')
_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
_SET_UP = {  # first word of a line that sets up a machine -> pattern of the rest
    "git": r"clone \S+( \w+)?",
    "cd": r"\w+",
    "make": rf"({'|'.join(sorted(_TARGETS))})( [A-Z]+=\S+)*",
    "sudo": r"apt-get install -y [a-z0-9. -]+",
    "export": r"(REMEMBRANCER_)?KEY=(\S+|\$\(cat \S+\))",
    ".": r"\.venv/bin/activate",
}


class DocumentationError(AssertionError):
    """A block of the documentation is wrong; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page. `title` is the value of `title="…"`, or empty."""

    place: str
    language: str
    title: str
    text: str
    reason: str | None  # why it is not run, if it is not
    environment: str | None = None  # of tests/frameworks, which runs it instead


def blocks(page: str, name: str) -> list[Block]:
    """Return the blocks of a page in order.

    Raises DocumentationError if a fence is indented, unclosed or has no language.
    """
    found_blocks = []
    for match in _BLOCK.finditer(page):
        place = f"{name}:{page.count(chr(10), 0, match.start('info')) + 1}"
        info = _INFO.fullmatch(match["info"].strip())
        if info is None:
            raise DocumentationError(
                f'{place}: a fence takes a language and at most title="…", not {match["info"]!r}'
            )
        found_blocks.append(
            Block(
                place,
                info["language"],
                info["title"] or "",
                match["text"],
                match["reason"],
                match["environment"],
            )
        )
    fences = len(re.findall(r"^\s*(```|~~~)", page, re.MULTILINE))
    if fences != 2 * len(found_blocks):
        raise DocumentationError(
            f"{name}: {fences} fences, but {len(found_blocks)} blocks that begin and end at the"
            " start of a line with ```"
        )
    return found_blocks


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
        self._printed: str | None = None  # output of the previous block if it was run

    def run(self, block: Block) -> None:
        """Run or check one block. Raises DocumentationError."""
        printed, self._printed = self._printed, None
        if block.reason is not None or block.environment is not None:
            return
        step = getattr(self, f"_{block.language}", None) if block.language.isidentifier() else None
        if step is None:
            raise DocumentationError(
                f"{block.place}: a block needs a known language, not {block.language!r}"
            )
        try:
            if block.language == "json" and block.title == RESPONSE:
                _compare(json.loads(block.text), printed)
            elif block.language == "text" and block.title == OUTPUT:
                assert printed == block.text, printed
            else:
                step(block)
        except Exception as error:
            raise DocumentationError(f"{block.place}: {type(error).__name__}: {error}") from error

    def _sh(self, block: Block) -> None:
        script = "".join(f"{line}\n" for line in _commands(block.text) if not _sets_up(line))
        self._printed = (
            self._process(["bash", "-euo", "pipefail", "-c", self._addressed(script)])
            if script
            else None
        )

    def _python(self, block: Block) -> None:
        self._printed = self._process(
            [sys.executable, "-W", "error", "-c", self._addressed(block.text)]
        )

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
        """Do nothing: a drawing."""

    def _addressed(self, text: str) -> str:
        return text.replace(WRITTEN_ADDRESS, self.url).replace(MODEL_ADDRESS, self.model_url)

    def _process(self, arguments: list[str]) -> str:
        """Return its output. Raises DocumentationError if it fails."""
        own = {
            "KEY": self.key,
            "URL": self.url,
            "REMEMBRANCER_KEY": self.key,
            "REMEMBRANCER_URL": self.url,
            "REMEMBRANCER_DATA": str(self.data),
            "REMEMBRANCER_EMBEDDER": "none",  # of commands; to load the model takes a second
            "HOME": str(self.folder),
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        process = captured(
            arguments, cwd=self.folder, env={**os.environ, **own, "PATH": path}, timeout=SECONDS_MAX
        )
        if process.returncode:
            raise DocumentationError(
                f"exit status {process.returncode}: {process.stdout}{process.stderr}"
            )
        return process.stdout


def _explain(statement: str, values: dict[str, None], tx: Transaction) -> None:
    tx.all(f"explain {statement}", **values)


def _commands(script: str) -> Iterator[str]:
    """Yield the commands: continued lines joined, without comments and empty lines.

    `serve` would not end, so only its arguments are checked.
    """
    for line in re.split(r"(?<!\\)\n", script):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"{line} --help" if re.match(r"remembrancer serve\b", line) else line


def _sets_up(line: str) -> bool:
    """Return True if the line only sets up a machine.

    Raises DocumentationError if it cannot work as written.
    """
    parts = [shlex.split(part, comments=True) for part in line.split("&&")]
    if not parts[0] or parts[0][0] not in _SET_UP:
        return False
    for first, *rest in parts:
        if first not in _SET_UP or not re.fullmatch(_SET_UP[first], " ".join(rest)):
            raise DocumentationError(f"`{' '.join([first, *rest])}` does not exist in this project")
    return True


def _compare(example: Any, printed: str | None) -> None:
    if printed is None:
        raise DocumentationError(
            "this is shown as a response, but there is no `sh` block with output before it"
        )
    if different := list(differences(example, json.loads(printed))):
        raise DocumentationError(f"the real response differs ({'; '.join(different)}): {printed}")


def differences(example: Any, real: Any, at: str = "") -> Iterator[str]:
    """Yield where two JSON values differ in shape.

    Keys and types are compared, not values. null matches everything; the items of a list are merged
    first.
    """
    if isinstance(example, dict) and isinstance(real, dict):
        for name in sorted(set(example) ^ set(real)):
            yield (
                f"{at}/{name} is"
                f" {'shown but missing' if name in example else 'present but not shown'}"
            )
        for name in sorted(set(example) & set(real)):
            yield from differences(example[name], real[name], f"{at}/{name}")
    elif isinstance(example, list) and isinstance(real, list):
        if bool(example) != bool(real):
            yield f"{at} is {'empty' if example else 'not empty'}"
        elif example:
            yield from differences(_together(example), _together(real), f"{at}/*")
    elif example is not None and real is not None and _kind(example) != _kind(real):
        yield f"{at} is {_kind(real)}, not {_kind(example)}"


def _together(items: list[Any]) -> Any:
    """Return one item with the members of all items."""
    objects = [item for item in items if isinstance(item, dict)]
    return (
        {name: value for item in objects for name, value in item.items()} if objects else items[0]
    )


def _kind(value: Any) -> str:
    """Return its JSON type; 1 and 1.0 are both numbers, true is not."""
    names = {
        bool: "boolean",
        int: "number",
        float: "number",
        str: "string",
        dict: "object",
        list: "array",
    }
    return names[type(value)]
