"""Metadata of turns and facts, and filters on it (specification.md#search-metadata).

In search, lists and forget, on both engines.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service import Http

from remembrancer.protocol.filters import OPERATORS

SEARCH, BATCH, EVENTS = "/api/v7/memory", "/api/v7/memory/batch", "/api/v7/events"
FACTS, FORGET = "/api/v7/memory/facts", "/api/v7/memory/forget"
USERS = (f"user-{n}" for n in itertools.count())
REPLY = "Okay, I will remember that."

KEYS = st.sampled_from(("project", "priority", "done", "tags", "Ключ"))
TEXTS = st.sampled_from(("garden", "house", "garden shed", "", "10", "сад"))
NUMBERS = st.sampled_from((-7, -0.5, 0, 2, 2.5, 10, 10**12))
VALUES = st.one_of(TEXTS, NUMBERS, st.booleans(), st.lists(TEXTS, max_size=3))
METADATA = st.dictionaries(KEYS, VALUES, max_size=4)
SESSIONS, TOPICS = ("one", "two"), (None, "tea", "tea time")
TURNS = st.lists(
    st.tuples(METADATA, st.sampled_from(SESSIONS), st.sampled_from(TOPICS)), max_size=8
)


def conditions() -> st.SearchStrategy[dict[str, Any]]:
    """Return conditions on metadata and on fields of a turn."""
    scalars = st.one_of(TEXTS, NUMBERS, st.booleans())
    by_operator = st.one_of(
        st.tuples(st.sampled_from(("eq", "ne")), scalars),
        st.tuples(st.sampled_from(("in", "nin")), st.lists(scalars, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(("gt", "gte", "lt", "lte")), st.one_of(TEXTS, NUMBERS)),
        st.tuples(st.just("contains"), TEXTS),
        st.tuples(st.just("exists"), st.booleans()),
    )
    own = st.one_of(
        st.tuples(
            st.sampled_from(("eq", "ne", "contains", "gte")), st.sampled_from(("tea", "one"))
        ),
        st.tuples(st.just("in"), st.just(["one", "tea"])),
        st.tuples(st.just("exists"), st.booleans()),
    )
    return st.one_of(
        st.builds(lambda key, value: {key: value}, KEYS, scalars),
        st.builds(lambda key, one: {key: {one[0]: one[1]}}, KEYS, by_operator),
        st.builds(
            lambda key, one: {key: {one[0]: one[1]}}, st.sampled_from(("session_id", "topic")), own
        ),
    )


FILTERS = st.recursive(
    conditions(),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"OR": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=4,
)


def passes(filters: dict[str, Any], turn: dict[str, Any]) -> bool:
    """Return True if a turn passes filters, as decided: written apart from the service."""
    return all(_member(name, value, turn) for name, value in filters.items())


def _member(name: str, value: Any, turn: dict[str, Any]) -> bool:
    if name.lower() == "and":
        return all(passes(one, turn) for one in value)
    if name.lower() == "or":
        return any(passes(one, turn) for one in value)
    if name.lower() == "not":
        return not passes(value, turn)
    value = value if isinstance(value, dict) else {"eq": value}
    return all(_holds(turn.get(name), operator, one) for operator, one in value.items())


def _holds(stored: Any, operator: str, value: Any) -> bool:
    if operator in ("ne", "nin"):
        return not _holds(stored, {"ne": "eq", "nin": "in"}[operator], value)
    if operator == "exists" or stored is None:
        return operator == "exists" and (stored is not None) == value
    several = stored if isinstance(stored, list) else [stored]
    if operator in ("eq", "in"):
        wanted = value if operator == "in" else [value]
        return any(
            _kind(one) == _kind(other) and one == other for one in several for other in wanted
        )
    if operator == "contains":
        within = stored if isinstance(stored, list) or value else []
        return isinstance(stored, list | str) and value in within
    if isinstance(stored, list) or _kind(stored) != _kind(value):
        return False
    compared = {"gt": stored > value, "gte": stored >= value, "lt": stored < value}
    return bool(compared.get(operator, stored <= value))


def _kind(value: Any) -> type:
    return str if isinstance(value, str) else bool if isinstance(value, bool) else float


def stored(http: Http, user_id: str, turns: list[tuple[Any, str, str | None]]) -> dict[str, Any]:
    """Store turns about tea; return what a filter sees of each, by its event_id."""
    if not turns:
        return {}
    body = [
        {"query": f"Tea number {n}", "response": REPLY, "session_id": session}
        | ({"topic": topic} if topic else {})
        | ({"metadata": metadata} if metadata else {})
        for n, (metadata, session, topic) in enumerate(turns)
    ]
    answer = http.post(BATCH, {"user_id": user_id, "turns": body})
    assert answer.status_code == 200, answer.text
    ids = [one["event_id"] for one in answer.json()["receipts"]]
    return {
        event_id: {**metadata, "session_id": session, "topic": topic}
        for event_id, (metadata, session, topic) in zip(ids, turns, strict=True)
    }


@given(turns=TURNS, filters=FILTERS)
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_search_list_and_forget_select_what_passes(
    service: Http, turns: list[tuple[Any, str, str | None]], filters: dict[str, Any]
) -> None:
    user = next(USERS)
    seen = stored(service, user, turns)
    expected = {event_id for event_id, turn in seen.items() if passes(filters, turn)}

    answer = service.memory("tea number", user, filters=filters, top_k=100, interact=False)
    again = service.memory("tea number", user, filters=filters, top_k=100, interact=False)
    listed = service.get(EVENTS, params={"user_id": user, "filters": json.dumps(filters)}).json()
    erased = service.post(FORGET, {"user_id": user, "filters": filters}).json()
    left = service.get(EVENTS, params={"user_id": user}).json()

    assert {hit["event_id"] for hit in answer["hits"]} == expected
    assert again["hits"] == answer["hits"]
    assert {event["event_id"] for event in listed["events"]} == expected
    assert erased["counts"]["events"] == len(expected)
    assert {event["event_id"] for event in left["events"]} == seen.keys() - expected


@given(every=st.lists(METADATA, max_size=5), filters=FILTERS)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_facts_are_selected_as_turns_are(
    service: Http, every: list[dict[str, Any]], filters: dict[str, Any]
) -> None:
    user, seen = next(USERS), {}
    for n, metadata in enumerate(every):
        body = {"user_id": user, "text": f"Tea {n} is kept in tin {n}.", "metadata": metadata}
        seen[service.post(FACTS, body).json()["fact"]["fact_id"]] = metadata
    expected = {fact_id for fact_id, fact in seen.items() if passes(filters, fact)}

    listed = service.get(FACTS, params={"user_id": user, "filters": json.dumps(filters)}).json()
    service.memory("warm up", user, interact=False)
    found = service.memory("Which tin is the tea in?", user, filters=filters, interact=False)
    erased = service.post(FORGET, {"user_id": user, "filters": filters}).json()

    assert {fact["fact_id"] for fact in listed["facts"]} == expected
    assert {fact["fact_id"] for fact in found["facts"]} <= expected
    assert erased["counts"]["facts"] == len(expected)


def test_metadata_comes_back_and_is_replaced(service: Http) -> None:
    user, metadata = next(USERS), {"project": "garden", "tags": ["a", "b"], "n": 2.5, "done": False}
    turn = service.remember("Where is the axe?", "In the shed.", user_id=user, metadata=metadata)
    plain = service.remember("Where is the saw?", "In the barn.", user_id=user)
    path = f"/api/v7/event/{turn['event_id']}"
    in_garden = {"filters": {"project": "garden"}, "interact": False}

    [hit] = service.memory("axe", user, **in_garden)["hits"]
    assert hit["metadata"] == service.get(path).json()["metadata"] == metadata
    assert "metadata" not in service.get(f"/api/v7/event/{plain['event_id']}").json()
    # Both facts and wishes that come with a turn have its metadata.
    service.remember(
        "Never use plastic pots.",
        "Fine.",
        user_id=user,
        critical="The axe is red.",
        metadata=metadata,
    )
    answer = service.memory("What colour is the axe?", user, **in_garden)
    assert [one["metadata"] for one in answer["facts"] + answer["instructions"]] == [metadata] * 2

    changed = service.patch(path, {"metadata": {"project": "house"}}).json()
    assert changed["metadata"] == {"project": "house"}
    hits = service.memory("axe shed", user, **in_garden)["hits"]
    assert turn["event_id"] not in [hit["event_id"] for hit in hits]
    assert "metadata" not in service.patch(path, {"metadata": {}}).json()

    fact = answer["facts"][0]["fact_id"]
    changed = service.patch(f"{FACTS}/{fact}", {"metadata": {"project": "house"}}).json()["fact"]
    assert changed["metadata"] == {"project": "house"}
    listed = service.get(FACTS, params={"user_id": user, "filters": '{"project": "garden"}'}).json()
    assert listed["facts"] == []


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("metadata", {str(n): n for n in range(17)}, "more than 16 keys"),
        ("metadata", {"k" * 65: 1}, "1 to 64 characters"),
        ("metadata", {"": 1}, "1 to 64 characters"),
        ("metadata", {"a": {"b": 1}}, "value of key 1"),
        ("metadata", {"a": None}, "value of key 1"),
        ("metadata", {"a": "x" * 513}, "value of key 1"),
        ("metadata", {"a": ["x"] * 17}, "value of key 1"),
        ("metadata", {"a": [1]}, "value of key 1"),
        ("metadata", {"a": "\0"}, "NUL"),
        ("metadata", [], "an object"),
        ("filters", {}, "at least one member"),
        ("filters", {"a": {}}, f"one of {', '.join(OPERATORS)}"),
        ("filters", {"a": {"like": 1}}, f"one of {', '.join(OPERATORS)}"),
        ("filters", {"a": None}, "takes a text or a number"),
        ("filters", {"a": {"gt": True}}, "takes a text or a number"),
        ("filters", {"a": {"in": []}}, "list of 1 to 100 values"),
        ("filters", {"a": {"exists": 1}}, "true or false"),
        ("filters", {"a": {"contains": 1}}, "takes a text"),
        ("filters", {"and": []}, "list of filters"),
        ("filters", {"or": {"a": 1}}, "list of filters"),
        ("filters", {"occurred_at": {"gt": "yesterday"}}, "RFC 3339"),
        ("filters", {"session_id": 5}, "session_id takes a text"),
        ("filters", {"and": [{str(n): n} for n in range(33)]}, "more than 32 conditions"),
        ("filters", {"not": {"not": {"not": {"not": {"a": 1}}}}}, "more than 4 deep"),
    ],
)
def test_what_is_wrong_is_refused_whole(http: Http, field: str, value: Any, says: str) -> None:
    if field == "metadata":
        answer = http.post(
            "/api/v7/remember", {"query": "a", "response": "b", "user_id": "ada", field: value}
        )
    else:
        answer = http.post(SEARCH, {"query_text": "a", "user_id": "ada", field: value})

    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert fault["pointer"] == f"/{field}"
    assert says in fault["detail"]
    assert http.get(EVENTS, params={"user_id": "ada"}).json()["events"] == []


def test_metadata_is_screened_and_erased_with_its_turn(http: Http) -> None:
    secret = str(http.key)
    event = http.remember("Where?", "Here.", metadata={"token": secret, "place": "zanzibar"})

    shown = http.get(f"/api/v7/event/{event['event_id']}").json()["metadata"]
    assert secret not in json.dumps(shown)
    http.delete(f"/api/v7/event/{event['event_id']}")

    rows = http.context.store.read(lambda tx: tx.all("select * from metadata_values"))
    assert rows == []
