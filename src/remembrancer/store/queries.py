"""Named SQL: files of statements, each under a line `-- name: what it does`, beside the code that
runs them.

A statement that an engine cannot take as it is has a variant for it, under a line `-- name
[engine]: why`.
"""

from __future__ import annotations

import re
from importlib import resources

_HEAD = re.compile(
    r"^-- (?P<name>[a-z][a-z0-9_]*)(?: \[(?P<engine>[a-z]+)\])?: (?P<purpose>.+)$", re.MULTILINE
)


class NamedStatement(str):
    """A statement for every engine, and in `variants`, by engine, for those that need another."""

    __slots__ = ("variants",)

    def __init__(self, _: str) -> None:
        super().__init__()
        self.variants: dict[str, str] = {}


class Queries:
    """The statements of one file as attributes:

    `SQL.add_event`. An unknown name raises AttributeError at once.
    """

    def __init__(self, text: str, source: str) -> None:
        heads = list(_HEAD.finditer(text))
        for head, after in zip(heads, [*heads[1:], None], strict=True):
            name, statement = (
                head["name"],
                text[head.end() : after.start() if after else len(text)].strip().rstrip(";"),
            )
            known = self.__dict__.get(name)
            if not statement:
                raise ValueError(f"{source}: query {name} is empty")
            if head["engine"] is None and known is None:
                self.__dict__[name] = NamedStatement(statement)
            elif head["engine"] is None or (known is not None and head["engine"] in known.variants):
                raise ValueError(f"{source}: query {name} is defined twice")
            elif known is None:
                raise ValueError(
                    f"{source}: query {name} has a variant for {head['engine']} before it is defined"
                )
            else:
                known.variants[head["engine"]] = statement

    def __getattr__(self, name: str) -> str:
        raise AttributeError(f"no query named {name}")


def load_queries(package: str, file: str) -> Queries:
    """Load `file` of `package`, e.g. named("remembrancer.memory", "memory.sql")."""
    return Queries(resources.files(package).joinpath(file).read_text("utf-8"), f"{package}/{file}")
