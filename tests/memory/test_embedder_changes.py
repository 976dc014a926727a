"""Nothing is lost and search has no gap while an embedder is down, slow, or replaced."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from endpoint import Handler, endpoint, fails
from memory.asking import Concepts, Memory, memory_in, opened
from service import rows

from remembrancer import status, testing
from remembrancer.context import Context, assemble
from remembrancer.memory import maintenance
from remembrancer.memory.maintenance import BATCH, Maintenance
from remembrancer.memory.write.turns import EMBEDDED_CHARACTERS_MAX
from remembrancer.search import EmbedderUnavailable, open_embedder
from remembrancer.search.embedders.port import NoEmbedder
from remembrancer.server.run import change_embedder
from remembrancer.settings import Settings


class Far(Concepts):
    """Concepts over a network: it fails while it is down, and calls `during` for each request."""

    is_remote = True

    def __init__(self, name: str = "far/1", *, is_down: bool = False) -> None:
        super().__init__(name)
        self.is_down, self.during = is_down, lambda: None

    @property
    def is_failing(self) -> bool:  # type: ignore[override]
        """Return True while it is down."""
        return self.is_down

    @property
    def dimensions(self) -> int:  # type: ignore[override]
        """Return 8 once it has answered."""
        return 8 if getattr(self, "has_answered", False) else 0

    def encode(self, texts: Sequence[str]) -> Any:
        """See Embedder."""
        if self.is_down:
            raise EmbedderUnavailable("the far one is down")
        self.during()
        self.has_answered = True
        return super().encode(texts)


class Wide(Concepts):
    """Concepts with more dimensions, in another order."""

    dimensions = 12

    def encode(self, texts: Sequence[str]) -> Any:
        """See Embedder."""
        return super().encode(texts)[:, ::-1]


def means_it(memory: Memory) -> bool:
    """Return True if "puppy", a word in no turn, finds the turn about the hound."""
    return [hit.response for hit in memory.ask("puppy").hits][:1] == ["The hound is called Argos."]


def tell_all(memory: Memory, turns: int) -> None:
    """Store turns about ferries, then one about a hound."""
    for n in range(turns - 1):
        memory.tell(f"When does the ferry leave on day {n}?", f"The ferry of day {n} is at noon.")
    memory.tell("What is he called?", "The hound is called Argos.")


def embedding(context: Context) -> Any:
    """Return what the status record says about vectors."""
    return status.record(context, connections=0, sandbox="ns").embedding


def test_turn_is_stored_while_the_embedder_is_down_and_gets_its_vector_later(folder: Path) -> None:
    """Nothing is lost (specification.md#status-embedding-endpoint)."""
    embedder = Far(is_down=True)
    with opened(folder, embedder=embedder) as memory:
        maintenance = Maintenance(memory.context)
        tell_all(memory, 3)

        assert memory.best("hound").response == "The hound is called Argos."
        assert embedding(memory.context).state == "unavailable"
        assert embedding(memory.context).pending == 3
        assert status.readiness(memory.context).ready
        with pytest.raises(EmbedderUnavailable):
            maintenance.step()

        embedder.is_down = False
        while maintenance.step():
            pass
        memory.context = maintenance.context

        assert embedding(memory.context).state == "ok"
        assert means_it(memory)


def test_endpoint_that_is_down_at_the_start_is_used_once_it_answers(folder: Path) -> None:
    """The dimension of its vectors is learned then, and the indexes are built anew."""
    is_up = False

    def embeds(handler: Handler) -> None:
        if not is_up:
            fails(403)(handler)
            return
        vectors = Concepts().encode(handler.body["input"]).tolist()
        data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        handler.send(json.dumps({"data": data}).encode())

    with endpoint(embeds) as api:
        name = f"openai:{api.base_url}#tiny"
        now = [0.0]
        context = assemble(Settings(data=folder, embedder=name, durability="normal"))
        context.embedder._endpoint._now = lambda: now[0]  # type: ignore[attr-defined]
        memory, maintenance = memory_in(context), Maintenance(context)
        tell_all(memory, 3)
        assert memory.best("hound").response == "The hound is called Argos."
        assert embedding(context).state == "unavailable"

        is_up, now[0] = True, 1e9
        while maintenance.step():
            pass
        memory.context = maintenance.context
        ranks = {
            hit.response: [one.rank for one in hit.why if one.signal == "dense"]
            for hit in memory.ask("puppy").hits
        }
        assert ranks["The hound is called Argos."] == [1]
        assert embedding(memory.context).state == "ok"

        is_up = False
        assert memory.best("ferry").query.startswith("When does the ferry leave")
        memory.context.close()


def test_search_goes_on_by_words_when_the_embedder_fails(folder: Path) -> None:
    embedder = Far()
    embedder.encode(["ready"])
    with opened(folder, embedder=embedder) as memory:
        tell_all(memory, 3)
        assert means_it(memory)
        embedder.is_down = True

        assert memory.best("what is the hound called").response == "The hound is called Argos."
        assert memory.ask("fiddle").hits == []


def test_maintenance_goes_on_while_the_embedder_is_down(folder: Path) -> None:
    embedder = Far(is_down=True)
    clock = testing.FrozenClock()
    with opened(folder, embedder=embedder, clock=clock) as memory:
        maintenance = Maintenance(memory.context)
        memory.tell("What is he called?", "Argos.", expires_at="2026-02-01T00:00:00Z")
        clock.advance(60 * 86_400_000)
        before = rows(memory.context)["events"]

        with pytest.raises(EmbedderUnavailable):
            list(iter(maintenance.step, False))

        assert (before, rows(memory.context)["events"]) == (1, 0)


@pytest.mark.parametrize("new", [Concepts("concepts/2"), Wide("wide/1")])
def test_change_on_a_running_server_leaves_no_gap_in_search(folder: Path, new: Concepts) -> None:
    with opened(folder, embedder=Concepts("concepts/1")) as memory:
        tell_all(memory, 2 * BATCH + 3)
        maintenance = Maintenance(memory.context)
        contexts: list[Context] = []
        maintenance.watch(contexts.append)

        maintenance.change_embedder(new)
        memory.context = contexts[-1]
        assert embedding(memory.context).older == "concepts/1"
        assert embedding(memory.context).pending == 2 * BATCH + 3

        assert means_it(memory)

        steps = 0
        while maintenance.step():
            steps += 1
            memory.context = contexts[-1]
            assert means_it(memory)  # by the old vector, then by the new one

        assert steps >= 4
        assert embedding(memory.context).older is None
        assert embedding(memory.context).pending == 0
        assert memory.context.layout.dimensions == new.dimensions
        assert means_it(memory)


def test_change_back_before_the_end_of_renewal_keeps_search_complete(folder: Path) -> None:
    old = Concepts("concepts/1")
    with opened(folder, embedder=old) as memory:
        tell_all(memory, 2 * BATCH)
        maintenance = Maintenance(memory.context)
        maintenance.change_embedder(Wide("wide/1"))
        maintenance.step()
        maintenance.change_embedder(old)
        memory.context = maintenance.context

        assert means_it(memory)
        while maintenance.step():
            memory.context = maintenance.context
            assert means_it(memory)
        assert embedding(maintenance.context).pending == 0


def test_turn_without_a_vector_yet_is_found_by_its_words_among_similar_ones(folder: Path) -> None:
    """Those that only look alike do not displace it (status-embedding-endpoint)."""
    draw = random.Random(7)
    codes = [f"hq{n % 4}x{n} {draw.getrandbits(30):x}" for n in range(60)]
    with opened(folder, embedder=NoEmbedder()) as memory:
        late = memory.tell(codes[0], "The answer.")
        maintenance = Maintenance(memory.context)
        maintenance.change_embedder(open_embedder("multilingual"))
        memory.context = maintenance.context
        for code in codes[1:]:
            memory.tell(code, "The answer.")

        [hit] = [hit for hit in memory.ask(codes[0]).hits[:2] if hit.event_id == late]
        assert "dense" not in [one.signal for one in hit.why]
        assert memory.best(codes[9]).query == codes[9]


@pytest.mark.parametrize("text", ['embedder = "magic"', "embedder = ", 'embeder = "none"'])
def test_wrong_settings_leave_the_embedder_as_it_is(
    folder: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "remembrancer.toml").write_text(text, "utf-8")
    with opened(folder) as memory:
        maintenance = Maintenance(memory.context)
        change_embedder(maintenance)

        assert maintenance.context is memory.context
        assert "the embedder was not changed" in caplog.text


LONG = "The hound is called Argos. " + "word " * (EMBEDDED_CHARACTERS_MAX // 5)


def pending(memory: Memory) -> int:
    """Return how many turns wait for vectors."""
    embedding = status.readiness(memory.context).embedding
    assert embedding is not None
    return embedding.pending


def hits(memory: Memory, words: str) -> list[str]:
    """Return the beginnings of the responses that a search finds."""
    return [hit.response[:9] for hit in memory.ask(words).hits]


def test_long_turn_is_found_by_words_at_once_and_by_meaning_later(folder: Path) -> None:
    """See specification.md#remember-long-turn."""
    with opened(folder, embedder=Concepts("concepts/1")) as memory:
        memory.tell("What is he called?", LONG)
        before = pending(memory), hits(memory, "Argos"), hits(memory, "puppy")
        renewal = Maintenance(memory.context)
        while renewal.step():
            pass
        after = pending(memory), hits(memory, "puppy")

    assert before == (1, ["The hound"], [])
    assert after == (0, ["The hound"])


def test_long_turns_are_embedded_one_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other work is done between them (specification.md#remember-long-turn)."""
    monkeypatch.setattr(maintenance, "BATCH_CHARACTERS", 100_000)
    with opened(folder, embedder=Concepts("concepts/1")) as memory:
        for n in range(3):
            memory.tell(f"What is hound {n} called?", f"{n}. {LONG}")
        renewal, waiting = Maintenance(memory.context), [pending(memory)]
        while pending(memory):
            renewal.step()
            waiting.append(pending(memory))

    assert waiting == [3, 2, 1, 0]
