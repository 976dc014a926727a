"""Save an experience cube: `POST /api/v7/experience/create`."""

from __future__ import annotations

from typing import Any

from service import Http, body_of

CUBE = {
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "rules_markdown": "- MUST boil one part vinegar with two parts water.",
    "evidence": "tried at home",
}
PATH = "/api/v7/experience/create"


def create(http: Http, **more: Any) -> Any:
    """Return the response body."""
    return body_of(http.post(PATH, {**CUBE, **more}))


def stored_cube(http: Http) -> Any:
    """Return the last stored cube."""
    return http.context.store.read(lambda tx: tx.all("select * from cubes order by id"))[-1]


def refused(http: Http, body: Any, status: int = 422) -> Any:
    """Return the problem; check that nothing was stored."""
    before = http.rows()
    answer = http.post(PATH, body)
    assert answer.status_code == status, answer.text
    assert http.rows() == before
    return answer.json()


def test_created_cube_is_private(http: Http) -> None:
    """A created cube is private (specification.md#cube-create-private)."""
    answer = create(http)
    row = stored_cube(http)

    assert answer["saved"] is True
    assert answer["visibility"] == answer["cube_status"] == row.status == "private"
    assert (row.cube_id, row.kind, row.session) == (answer["cube_id"], "fact", None)
    assert row.model is None
    assert [row.topic, row.essence, row.rules, row.evidence] == list(CUBE.values())


def test_cube_has_one_of_six_kinds(http: Http) -> None:
    """A cube has one of six kinds (specification.md#cube-kinds)."""
    for number, kind in enumerate(("moment", "fact", "culture", "lifehack", "warning", "code")):
        create(http, cube_type=kind, model="gpt-x", topic=f"kettle {number}")
        assert (stored_cube(http).kind, stored_cube(http).model) == (kind, "gpt-x")


def test_session_id_is_optional_and_stored(http: Http) -> None:
    """`session_id` is optional (specification.md#cube-session)."""
    http.remember("q", "r", session_id="trip")
    create(http, session_id="trip")
    existing = stored_cube(http).session
    before = http.rows()["sessions"]
    create(http, session_id="never heard of")

    assert existing is not None
    assert stored_cube(http).session is None
    assert http.rows()["sessions"] == before


def test_evidence_can_be_an_own_event(http: Http) -> None:
    """An event id or a label; a foreign event is a 404, like an unknown one.

    See specification.md#cube-evidence.
    """
    foreign = http.as_account("bob").remember("q", "r")["event_id"]
    own = http.remember("q", "r", user_id="ada")["event_id"]
    pinned = http.as_account("owner", user_id="bo")
    wrong = (foreign, "e_0123456789abc", f"{own} and {foreign}", f"see {foreign}.")

    messages = {refused(http, {**CUBE, "evidence": e}, 404)["detail"] for e in wrong}
    messages.add(refused(pinned, {**CUBE, "evidence": own}, 404)["detail"])
    create(http, evidence=own)

    assert len(messages) == 1
    assert stored_cube(http).evidence == own


def test_cubes_are_counted_in_the_status_record(http: Http) -> None:
    """`cubes_count` counts shared cubes, not private ones (specification.md#cube-counted)."""
    counts = []
    for publish in (False, True):
        turn = {"cube_essence": f"Boil it first, {publish}.", "cube_rules": "- MUST boil."}
        session = {"session_id": f"s-{publish}", "cube_topic": "kettles", "cube_type": "lifehack"}
        cube = http.remember("How?", "So.", **turn, **session, cube_publish=publish)["cube"]
        counts.append((cube["visibility"], http.get("/api/v7/status").json()["cubes_count"]))

    assert counts == [("private", 0), ("published", 1)]
