"""Named SQL: files of statements, each after a line `-- name: purpose`, beside the code that uses
them.

A statement that one engine cannot execute has a variant after a line `-- name [engine]: why`.
"""

from __future__ import annotations

import re
from importlib import resources

_HEAD = re.compile(
    r"^-- (?P<name>[a-z][a-z0-9_]*)(?: \[(?P<engine>[a-z]+)\])?: (?P<purpose>.+)$", re.MULTILINE
)


class NamedStatement(str):
    """A statement for every engine, with `variants` by engine."""

    __slots__ = ("variants",)

    def __init__(self, _: str) -> None:
        super().__init__()
        self.variants: dict[str, str] = {}


class Queries:
    """The statements of one file as attributes, such as `SQL.add_event`.

    An unknown name raises AttributeError.
    """

    def __init__(self, text: str, source: str) -> None:
        heads = list(_HEAD.finditer(text))
        ends = [*(head.start() for head in heads[1:]), len(text)]
        for head, end in zip(heads, ends, strict=True):
            name, engine = head["name"], head["engine"]
            statement = text[head.end() : end].strip().rstrip(";")
            common = self.__dict__.get(name)
            if not statement:
                raise ValueError(f"{source}: query {name} is empty")
            if engine and common is None:
                raise ValueError(
                    f"{source}: query {name} has a variant for {engine} before it is defined"
                )
            if common is not None and (not engine or engine in common.variants):
                raise ValueError(f"{source}: query {name} is defined twice")
            if common is None:
                self.__dict__[name] = NamedStatement(statement)
            else:
                common.variants[engine] = statement

    def __getattr__(self, name: str) -> str:
        raise AttributeError(f"no query named {name}")


def load_queries(package: str, file: str) -> Queries:
    """Load a file of a package, such as load_queries("remembrancer.memory", "memory.sql")."""
    return Queries(resources.files(package).joinpath(file).read_text("utf-8"), f"{package}/{file}")
