"""Results of `add` and `search`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from ..protocol.cubes import SharedCube
from ..protocol.memory import BatchReceipt
from ..protocol.recalled import answer_items, fenced_items
from ..protocol.search import FactHit, Hit, InstructionHit, MemoryAnswer, MemoryName, SummaryHit
from ..protocol.text import beginning
from ..protocol.trust import TextSource

LINE_CHARACTERS_MAX = 100  # of a hit, when a result is printed


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """Ids of the turns that `add` stored, oldest first.

    `notes` are remarks on storing them, such as a masked key, calls of tools that were left out, or
    a time that was read as a local one.
    """

    user_id: str
    session_id: str
    event_ids: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        receipts: Sequence[BatchReceipt],
        *,
        user_id: str,
        session_id: str,
        notes: tuple[str, ...] = (),
    ) -> AddResult:
        """Return the result of the receipts of all turns, with notes of the client."""
        return cls(
            user_id=user_id,
            session_id=session_id,
            event_ids=tuple(receipt.event_id for receipt in receipts),
            notes=(*notes, *(receipt.detail for receipt in receipts if receipt.detail)),
        )

    @property
    def event_id(self) -> str:
        """Return the id of the first turn."""
        return self.event_ids[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMatch:
    """A fact, an instruction, a preference or a summary that a search found.

    `kind` says which. Instructions and preferences have no score and no time.
    """

    kind: str
    id: str
    text: str
    status: str = "current"  # a fact that another one replaced is `superseded`
    score: float | None = None  # 0..1, higher is better
    time: str | None = None  # time from which a fact holds (RFC 3339, UTC)
    session_id: str | None = None
    topic: str | None = None
    memory: MemoryName | None = None  # of a search that names teams
    source: TextSource = "user"  # who it comes from

    @property
    def marked_text(self) -> str:
        """Return the text, with its status unless it is current."""
        return self.text if self.status == "current" else f"{self.text} ({self.status})"


@dataclass(frozen=True, slots=True)
class SearchResult(Sequence[Hit]):
    """The answer of a search: a sequence of its hits, best first.

    It is true if anything matches: a turn, a fact, an instruction, a summary or a lesson. Printed,
    it is one line for each hit, then for each of the others. `answer` is the complete answer of the
    service.
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
    def others(self) -> list[OtherMatch]:
        """Return the facts, instructions and summaries that match, in one list."""
        others = []
        for fact in self.facts:
            values = {"status": fact.status, "score": fact.score, "time": fact.valid_from}
            others.append(_other("fact", fact, id=fact.fact_id, **values))
        others += [_other(one.kind, one, id=one.instruction_id) for one in self.instructions]
        for one in self.summaries:
            about = {"score": one.score, "session_id": one.session_id, "topic": one.topic}
            others.append(_other("summary", one, id=one.l1_id or f"map {one.map_version}", **about))
        return others

    @property
    def answerable(self) -> float:
        """Return the chance that any turn answers the query, in 0..1.

        Facts, instructions and summaries do not count: a query that only a fact answers has a low
        value, although `facts` holds the answer. They have a `score` of their own.
        """
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

    def __bool__(self) -> bool:
        return bool(self.hits or self.others or self.shared_cubes)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self.answer.hits[index]

    def __str__(self) -> str:
        lines = [
            *(_line(f"{hit.score:.2f}  {hit.occurred_at[:10]}", _both(hit)) for hit in self.hits),
            *(_line(one.kind, one.marked_text) for one in self.others),
            *(_line("lesson", f"{one.topic}: {one.essence}") for one in self.shared_cubes),
        ]
        return "\n".join(lines) or "nothing matches"


def _other(kind: str, one: FactHit | InstructionHit | SummaryHit, **fields: Any) -> OtherMatch:
    return OtherMatch(kind=kind, text=one.text, memory=one.memory, source=one.source, **fields)


def _both(hit: Hit) -> str:
    return f"{hit.query} / {hit.response}".strip().removeprefix("/ ").removesuffix(" /")


def _line(label: str, text: str) -> str:
    return f"{label}  {beginning(' '.join(text.split()), LINE_CHARACTERS_MAX)}"
