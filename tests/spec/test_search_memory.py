"""Search memory: `POST /api/v7/memory`."""

from __future__ import annotations

import pytest
from service import Http

from remembrancer.protocol.text import tokens

FERRY = ("When does the ferry to Elba leave?", "At 9:40 from Piombino, pier 3.")
OTHERS = [
    ("Which paint is on the fence?", "Linseed oil with green umber."),
    ("How do I prune the quince?", "In February, before the buds swell."),
    ("Who repairs the cello?", "Marta in the old mill."),
]


@pytest.fixture
def ferry(http: Http) -> str:
    """Save a turn about a ferry among others; return its event_id."""
    for query, response in OTHERS:
        http.remember(query, response)
    return str(http.remember(*FERRY)["event_id"])


def test_best_hit_is_first(http: Http, ferry: str) -> None:
    """The first hit is the center hit (specification.md#search-best-first)."""
    answer = http.memory("when does the ferry leave")

    assert answer["hits"][0]["event_id"] == ferry
    assert answer["total_hits"] >= len(answer["hits"])
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_hit_has_text_times_score_and_reasons(http: Http, ferry: str) -> None:
    """A hit has text, times, score and reasons (specification.md#search-hit)."""
    hit = http.memory("ferry")["hits"][0]

    assert (hit["event_id"], hit["session_id"], hit["query"], hit["response"]) == (
        ferry,
        "default",
        *FERRY,
    )
    assert hit["why"]
    assert all(0 <= signal["value"] <= 1 for signal in hit["why"])


def test_top_k_bounds_the_hits_and_defaults_to_5(http: Http) -> None:
    """`top_k` bounds the hits; default 5 (specification.md#search-top-k)."""
    for n in range(8):
        http.remember(f"Ferry {n}?", f"Ferry {n} leaves at {n} o'clock.")

    for top_k, hits in ((None, 5), (2, 2), (8, 8), (100, 8)):
        answer = http.memory("ferry", top_k=top_k)
        assert (len(answer["hits"]), answer["total_hits"]) == (hits, 8)


NO_WORDS = ("   ", "\n\t", "?!", "()", "…")
OPERATORS = ('"ferry"', "ferry NOT Elba", "ferry AND (Elba OR", "NEAR(ferry Elba)", "query: ferry",
             "ferry*", "-ferry", "ferry'; drop table events; --", "{ferry}^2", "%ferry\\")  # fmt: skip


def test_search_of_an_empty_memory_returns_no_hits(http: Http) -> None:
    """An empty memory is a 200 without hits (specification.md#search-empty)."""
    for query in ("ferry", "日本", *NO_WORDS, *OPERATORS):
        answer = http.memory(query, user_id="nobody-yet")

        assert (answer["hits"], answer["total_hits"]) == ([], 0)


def test_query_without_words_finds_nothing(http: Http, ferry: str) -> None:
    """A query without words finds nothing (specification.md#search-no-words)."""
    assert [http.memory(query)["hits"] for query in NO_WORDS] == [[]] * len(NO_WORDS)


def test_full_text_operators_are_plain_text(http: Http, ferry: str) -> None:
    """Full-text operators and quotes are plain text (specification.md#search-operators)."""
    for words in OPERATORS:
        by_query = http.memory(words)["hits"]
        by_focus = http.memory("When does the ferry leave?", focus_words=[words])["hits"]

        for hits in (by_query, by_focus):
            assert ferry in [hit["event_id"] for hit in hits], words


def test_focus_words_raise_hits_and_missing_ones_are_named(http: Http, ferry: str) -> None:
    """Focus words raise events and never hide others (specification.md#search-focus-words)."""
    answer = http.memory(
        "What is on the fence and when does the ferry leave?",
        focus_words=["UMBER", "xyzzy"],
        top_k=10,
    )

    assert answer["hits"][0]["response"] == OTHERS[0][1]
    assert ferry in [hit["event_id"] for hit in answer["hits"]]
    assert answer["focus_missing"] == ["xyzzy"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("어제 서울역에서 만났어요", "서울역"),  # the words have endings
        ("어제 서울역에서 만났어요", "역"),
        ("京都の旅に出た", "旅"),  # one character of a longer run
        ("我的猫病了", "猫"),
        ("日本語로 말해요", "日本"),  # two scripts in one word
        ("私はrunningが好き", "running"),
        ("हिन्दी की किताब", "की"),
        ("Паром отходит в девять сорок.", "ПАРОМ"),  # in another case
        ("Die Straße heißt Lindenstraße.", "LINDENSTRASSE"),
        ("العبارة تغادر في التاسعة", "تغادر"),
        ("แมวของฉันชื่อมะลิ", "มะลิ"),
    ],
)
def test_focus_words_are_found_in_scripts_with_endings_and_without_spaces(
    http: Http, text: str, word: str
) -> None:
    """In any language, without stemming (specification.md#search-focus-words)."""
    event_id = http.remember(text, "")["event_id"]

    answer = http.memory("What did we say?", focus_words=[word])

    assert "focus_missing" not in answer
    assert answer["hits"][0]["event_id"] == event_id
    assert answer["hits"][0]["why"][0]["signal"] == "focus"


def test_search_without_interaction_writes_nothing(http: Http) -> None:
    """`interact` false only reads (specification.md#search-read-only)."""
    step = http.memory("a")["step"]
    before = http.rows()

    assert http.memory("a", interact=False)["step"] == step
    assert http.memory("a", interact=False, user_id="nobody")["hits"] == []
    assert http.rows() == before
    http.memory("a", interact=False, user_id="nobody", session_id="new")
    assert http.rows() == {**before, "session_users": 2}  # specification.md#auth-session-user


def test_after_is_inclusive_and_before_is_exclusive(http: Http) -> None:
    """Both bound the time of the turn (specification.md#search-time-range)."""
    times = [f"2026-02-{day:02}T00:00:00+00:00" for day in (1, 2, 3)]
    for time in times:
        http.remember("Ferry?", f"The ferry of {time}.", occurred_at=time)

    def between(**bounds: str) -> list[str]:
        hits = http.memory("ferry", **bounds)["hits"]
        return sorted(hit["response"][-26:-1] for hit in hits)

    assert between(after="2026-02-02T00:00:00Z") == times[1:]
    assert between(before="2026-02-02T00:00:00Z") == times[:1]
    assert between(after="2026-02-02T01:00:00+01:00", before="2026-02-02T00:00:00.001Z") == [
        times[1]
    ]
    assert between(after="2026-02-03T00:00:01Z") == []
    assert between(after="0001-01-02T00:00:00Z", before="9999-12-30T00:00:00Z") == times


def test_max_tokens_bounds_the_text_of_the_hits(http: Http) -> None:
    """The best ones that fit, at least one (specification.md#search-max-tokens)."""
    for n in range(10):
        http.remember(f"Ferry {n}?", f"The ferry {n} " + "leaves from the pier " * (n + 1))
    whole = http.memory("ferry", top_k=10)["hits"]

    for budget in (1, 20, 60, 100, 1_000):
        hits = http.memory("ferry", top_k=10, max_tokens=budget)["hits"]
        spent = sum(tokens(hit["query"]) + tokens(hit["response"]) for hit in hits)
        assert hits == whole[: len(hits)] != []
        assert len(hits) == 1 or spent <= budget
    assert len(hits) > 1


def test_search_reads_only_the_space_of_its_user(http: Http, ferry: str) -> None:
    """A search reads one space (specification.md#search-isolation)."""
    bob = http.as_account("bob")

    assert http.memory("ferry", user_id="ada")["hits"] == []
    assert bob.memory("ferry", user_id="owner")["hits"] == []


def test_failed_search_returns_an_object_with_error(http: Http) -> None:
    """A failed search is an object with `error` (specification.md#error-search)."""
    for failed in (
        http.post("/api/v7/memory", {}),
        http.with_key(None).post("/api/v7/memory", {}),
        http.post_bytes("/api/v7/memory", b""),
    ):
        assert failed.status_code >= 400
        assert isinstance(failed.json()["error"], str)
