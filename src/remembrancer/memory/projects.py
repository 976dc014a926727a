"""Projects: which turns, facts and wishes belong to the one that is open.

The project of a turn or a fact is the value `project` of its metadata. Without one it is the
person's, and holds in every project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..protocol.search import PROJECT, in_project
from .spaces import read_metadata, write_metadata

# What says that a wish or a fact is about the project, and what that it is about the person.
_OF_PROJECT = re.compile(
    r"\b(?:repo(?:sitory)?|codebase|project|monorepo|projekt|codebasis|projet|dépôt|proyecto"
    r"|repositorio|progetto)\b|проект|репозитор|项目|仓库|代码库",
    re.IGNORECASE,
)
_OF_PERSON = re.compile(
    r"\b(?:i|i'm|me|my|mine|myself|ich|mir|mich|meine?[mnrs]?|je|moi|mon|ma|mes|yo|mí|mis?"
    r"|prefiero|odio|io|mi[oae]|miei|preferisco|я|мне|меня|мой|моя|мо[её]|мои)\b|\bj['’]|我(?!们)"
    r"|\b(?:answer|reply|respond|antwort\w*|répon\w*|respond[ea]\w*|contesta|rispond\w*)\b"
    r"|отвеча|回答|回复",
    re.IGNORECASE,
)


def other_projects(project: str) -> dict[str, Any]:
    """Return the filter that events of other projects pass."""
    return {"and": [{PROJECT: {"exists": True}}, {PROJECT: {"ne": project}}]}


def own_or_none(project: str) -> dict[str, Any]:
    """Return the filter that what belongs to a project or to the person passes."""
    return {"or": [{PROJECT: {"exists": False}}, {PROJECT: project}]}


def project_of(stored: str | None) -> str | None:
    """Return the project in metadata as it is stored."""
    return project_in(read_metadata(stored))


def project_in(metadata: Mapping[str, Any] | None) -> str | None:
    """Return the project in metadata as a request brings it."""
    value = (metadata or {}).get(PROJECT)
    return value if isinstance(value, str) and value else None


def is_elsewhere(stored: str | None, project: str | None) -> bool:
    """Return True if an item (its stored metadata) belongs to another project than this one."""
    return project is not None and project_of(stored) not in (None, project)


def metadata_of_statement(stored: str | None, text: str) -> str | None:
    """Return the metadata of a wish or a fact that was stated in a turn with stored metadata.

    What is about the person holds in every project.
    """
    if project_of(stored) is None or _OF_PROJECT.search(text) or not _OF_PERSON.search(text):
        return stored
    return without_project(stored)


def without_project(stored: str | None) -> str | None:
    """Return stored metadata without its project."""
    return write_metadata(in_project(read_metadata(stored), None))
