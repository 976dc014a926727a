"""Results of `add` and `search`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from ..protocol.cubes import SharedCube
from ..protocol.recalled import answer_items, fenced_items
from ..protocol.search import FactHit, Hit, InstructionHit, MemoryAnswer, SummaryHit

LINE_CHARACTERS_MAX = 100  # of a hit, when a result is printed


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """Ids of the turns that `add` stored, oldest first.

    `notes` are remarks of the service on storing them, such as a masked key.
    """

    user_id: str
    session_id: str
    event_ids: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def event_id(self) -> str:
        """Return the id of the first turn."""
        return self.event_ids[0]


@dataclass(frozen=True, slots=True)
class SearchResult(Sequence[Hit]):
    """The answer of a search: a sequence of its hits, best first.

    Printed, it is one line per hit. `answer` is the complete answer of the service.
    """

    answer: MemoryAnswer
    user_id: str

    @property
    def hits(self) -> list[Hit]:
        """Return the turns that match, best first."""
        return self.answer.hits

    @property
    def facts(self) -> list[FactHit]:
        """Return the current facts that bear on the query."""
        return self.answer.facts or []

    @property
    def instructions(self) -> list[InstructionHit]:
        """Return the standing instructions and preferences that apply."""
        return self.answer.instructions or []

    @property
    def summaries(self) -> list[SummaryHit]:
        """Return the summaries that match."""
        return self.answer.summaries or []

    @property
    def shared_cubes(self) -> list[SharedCube]:
        """Return the lessons that match."""
        return self.answer.shared_cubes

    @property
    def answerable(self) -> float:
        """Return the chance that any hit answers the query, in 0..1."""
        return self.answer.answerable

    @property
    def text(self) -> str:
        """Return everything that was recalled as text for a model, fenced as data.

        It is empty if nothing was recalled.
        """
        items = answer_items(self.answer.model_dump(mode="json"))
        return fenced_items(items) if items else ""

    def __len__(self) -> int:
        return len(self.answer.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self.answer.hits[index]

    def __str__(self) -> str:
        return "\n".join(map(_line, self.answer.hits)) or "no hits"


def _line(hit: Hit) -> str:
    text = " ".join(f"{hit.query} / {hit.response}".split())
    text = text.removeprefix("/ ").removesuffix(" /")
    if len(text) > LINE_CHARACTERS_MAX:
        text = f"{text[: LINE_CHARACTERS_MAX - 1]}\u2026"
    return f"{hit.score:.2f}  {hit.occurred_at[:10]}  {text}"
