"""Read the project's own files as data, for the architecture tests."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "remembrancer"
CODE = ROOT / "src" / PACKAGE

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file.

    `name` is its path for messages, `module` its dotted import name, `nodes` all nodes of its tree.
    """

    name: str
    module: str
    is_package: bool
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    functions: tuple[
        tuple[str, Function], ...
    ]  # dotted name in the file, and node; also nested ones

    @property
    def package(self) -> str:
        """Return the second part of its dotted name; empty for the top `__init__`."""
        return self.module.partition(".")[2].partition(".")[0]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{child.name}" if isinstance(child, Function | ast.ClassDef) else prefix
        if isinstance(child, Function):
            yield name, child
        yield from _functions(
            child, f"{name}." if isinstance(child, Function | ast.ClassDef) else prefix
        )


@cache  # read once per test process
def sources(folder: Path, *, top: str = "") -> list[Source]:
    """Return every Python file below `folder`; `top` is the dotted name of the folder."""
    files = []
    for path in sorted(folder.rglob("*.py")):
        if "__pycache__" in path.parts:
            continue
        parts = [top, *path.relative_to(folder).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        module = ".".join(part for part in (parts[:-1] if is_package else parts) if part)
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        name = str(path.relative_to(folder.parent))
        nodes, functions = tuple(ast.walk(tree)), tuple(_functions(tree, ""))
        files.append(Source(name, module, is_package, text, tree, nodes, functions))
    return files


def package() -> list[Source]:
    """Return the files of the package."""
    return sources(CODE, top=PACKAGE)


def everything() -> list[Source]:
    """Return the files of the package, tests, benchmarks and integrations."""
    return [
        *package(),
        *(
            source
            for top in ("tests", "bench", "integrations")
            for source in sources(ROOT / top, top=top)
        ),
    ]


def tracked() -> list[Path]:
    """Return every text file of the project, including new ones.

    These are the files that git tracks or would add; without git, all files that are not hidden.
    """
    command = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    try:
        names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split(
            "\0"
        )
        paths = [ROOT / name for name in names if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [
            path
            for path in ROOT.rglob("*")
            if not any(
                part.startswith(".") or part == "__pycache__"
                for part in path.relative_to(ROOT).parts
            )
        ]
    return sorted(path for path in paths if path.is_file() and b"\0" not in path.read_bytes())


def relative(path: Path) -> str:
    """Return a path relative to the project root."""
    return str(path.relative_to(ROOT))


def lines(path: Path) -> list[str]:
    """Return the lines of a text file."""
    return path.read_text("utf-8", errors="replace").splitlines()
