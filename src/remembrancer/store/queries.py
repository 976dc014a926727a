"""Named SQL: files of statements, each under a line `-- name: what it does`, beside the code that runs them."""

from __future__ import annotations

import re
from importlib import resources

_HEAD = re.compile(r"^-- (?P<name>[a-z][a-z0-9_]*): (?P<purpose>.+)$", re.MULTILINE)


class Queries:
    """The statements of one file as attributes: `SQL.add_event`. An unknown name raises AttributeError at once."""

    def __init__(self, text: str, source: str) -> None:
        heads = list(_HEAD.finditer(text))
        for head, after in zip(heads, [*heads[1:], None], strict=True):
            statement = text[head.end() : after.start() if after else len(text)].strip().rstrip(";")
            if not statement:
                raise ValueError(f"{source}: query {head['name']} is empty")
            if head["name"] in self.__dict__:
                raise ValueError(f"{source}: query {head['name']} is defined twice")
            self.__dict__[head["name"]] = statement

    def __getattr__(self, name: str) -> str:
        raise AttributeError(f"no query named {name}")


def named(package: str, file: str) -> Queries:
    """Load `file` of `package`, e.g. named("remembrancer.memory", "memory.sql")."""
    return Queries(resources.files(package).joinpath(file).read_text("utf-8"), f"{package}/{file}")
