"""An L2 is asked for with its L1s, and an L1 may be sent again.

See specification.md#duty-l2-due.
"""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

TILES = ("clay", "slate", "copper", "zinc", "straw", "glass", "cedar", "moss", "tin", "felt", "tar")
MAP = "Roof tiles of clay, slate, copper, zinc and straw were compared."
INVENTED = "The user collects stamps and sails on Sundays."


def with_l1s(http: Http, user: str = "ada") -> list[str]:
    """Store an L1 in a session of its own for each kind of tile; return their texts."""
    texts = []
    for tile in TILES:
        where = {"user_id": user, "session_id": f"about {tile}"}
        texts.append(f"Roof tiles of {tile} were compared with the old ones; {tile} was chosen.")
        http.remember(f"Is {tile} good for roof tiles?", "Yes. " * 300, **where)
        http.post("/api/v7/memory/summarize", {**where, "summary_text": texts[-1]})
    return texts


def map_receipt(http: Http, text: str) -> Any:
    """Send a map; return its receipt."""
    [receipt] = http.post("/api/v7/remember", {"user_id": "ada", "l2_map": text}).json()["receipts"]
    return receipt


def test_an_l2_is_asked_for_with_all_l1s_of_the_user(http: Http) -> None:
    """In any session, also a new one; and no more once the map covers them."""
    texts = with_l1s(http)

    answer = http.memory("Hello", "ada", session_id="new")
    read = http.memory("Hello", "ada", session_id="new", interact=False)
    other = http.memory("Hello", "ben")

    assert [one["text"] for one in answer["l2_source"]["summaries"]] == texts
    assert answer["l2_source"]["summaries"][0]["session_id"] == "about clay"
    assert answer["l2_source"]["left_out"] == 0
    assert any("L2 is due" in reminder for reminder in answer["reminders"])
    assert "l2_source" not in read
    assert "l2_source" not in other
    assert map_receipt(http, MAP)["outcome"] == "stored"
    assert "l2_source" not in http.memory("Hello", "ada", session_id="new")


@pytest.mark.parametrize("has_l1s", [True, False])
def test_a_map_of_nothing_or_of_something_else_is_a_note(http: Http, has_l1s: bool) -> None:
    """It is a version, is not served and leaves the L2 due (specification.md#map-note)."""
    if has_l1s:
        with_l1s(http)

    receipt, again = map_receipt(http, INVENTED), map_receipt(http, INVENTED)

    assert receipt["detail"].startswith("Kept as a note")
    assert (again["outcome"], again["id"]) == ("known", receipt["id"])
    note = http.get(f"/api/v7/memory/map?user_id=ada&version={receipt['id']}").json()
    assert (note["map_text"], note["made_by"]) == (INVENTED, "note")
    assert http.get("/api/v7/memory/map?user_id=ada").status_code == 404
    assert "stamps" not in http.get("/api/v7/memory/start?user_id=ada").text
    answer = http.memory("stamps", "ada", session_id="new")
    assert "stamps" not in str(answer["summaries"])
    assert ("l2_source" in answer) == has_l1s
    rebuilt = http.post("/api/v7/memory/map", {"user_id": "ada"}).json()
    assert rebuilt["updated"] == has_l1s
    assert [tile in rebuilt["map_text"] for tile in TILES] == [has_l1s] * len(TILES)
    assert "stamps" not in rebuilt["map_text"]


def summarize(http: Http, text: str) -> Any:
    """Send an L1 of the session `s`; return the response."""
    body = {"user_id": "ada", "session_id": "s", "summary_text": text}
    return http.post("/api/v7/memory/summarize", body)


def test_an_l1_sent_again_replaces_the_last_one(http: Http) -> None:
    """See specification.md#l1-replaced."""
    http.remember("How high is the shed?", "Tall. " * 200, user_id="ada", session_id="s")
    text = " ".join(["The shed was measured."] * 3)

    first, second, again = (summarize(http, one).json() for one in ("Short.", text, text))

    assert first["warning"].startswith("Stored, but too short")
    assert second["l1_id"] == first["l1_id"] == again["l1_id"]
    assert second["warning"] == "It replaces the L1 that was sent before for the same turns."
    assert "warning" not in again
    found = http.memory("shed measured, short", "ada", interact=False)["summaries"]
    assert [one["text"] for one in found] == [text]
    http.remember("And the barn?", "Low. " * 200, user_id="ada", session_id="s")
    assert summarize(http, "The barn was measured.").json()["l1_id"] != first["l1_id"]
