"""The page of lessons (cubes)."""

from __future__ import annotations

import re

from console.reader import Reader, words_of

HERE = "/console/cubes"
PUBLIC = {
    "cube_topic": "Kettles",
    "cube_essence": "Descaling a kettle takes vinegar and ten minutes.",
    "cube_rules": "- MUST boil one part of vinegar with two parts of water",
    "cube_publish": True,
    "cube_type": "lifehack",
}


def create_public(reader: Reader) -> str:
    """Create a public lesson; return its id."""
    turn = reader.http.remember("How?", "With vinegar.", session_id="kitchen", **PUBLIC)
    return str(turn["cube"]["cube_id"])


def create_private(reader: Reader, topic: str = "Secret saws") -> str:
    """Create a private lesson; return its id."""
    body = {
        "topic": topic,
        "essence": "Saws rust.",
        "rules_markdown": "- MUST oil",
        "evidence": "docs",
        "cube_type": "code",
    }
    return str(reader.http.post("/api/v7/experience/create", body).json()["cube_id"])


def test_board_lists_own_and_public_lessons_by_status(owner: Reader, ada: Reader) -> None:
    create_public(owner)
    create_private(owner)
    own, other = words_of(owner.get(HERE).text), words_of(ada.get(HERE).text)

    assert "0 trusted , 1 published , 1 private , 0 retired ." in own
    assert own.index("Kettles yours") < own.index("Secret saws")
    assert "Kettles" in other
    assert "yours" not in other
    assert "Secret saws" not in other


def test_board_is_filtered_by_status_kind_and_account(owner: Reader, ada: Reader) -> None:
    create_public(ada)
    create_private(owner)
    expected = {
        "status=published": ["Kettles"],
        "status=private": ["Secret saws"],
        "kind=code": ["Secret saws"],
        "kind=lifehack": ["Kettles"],
        "own=yes": ["Secret saws"],
        "status=published&own=yes": [],
    }
    for request, topics in expected.items():
        page = owner.get(f"{HERE}?{request}").text
        assert [topic for topic in ("Kettles", "Secret saws") if topic in page] == topics


def test_lesson_page_shows_rules_to_all_and_sources_to_the_owner(
    owner: Reader, ada: Reader
) -> None:
    cube_id = create_public(owner)
    own, other = owner.get(f"{HERE}?cube_id={cube_id}"), ada.get(f"{HERE}?cube_id={cube_id}")

    assert "MUST boil one part of vinegar" in own.text
    assert re.search(r"/console/memory\?event_id=e_\w+", own.text)
    assert "session_id=kitchen" in own.text
    assert "3 more needed before the votes change its status" in words_of(own.text)
    assert "MUST boil" in other.text
    assert "kitchen" not in other.text
    assert "/console/memory?event_id" not in other.text


def test_vote_is_counted_and_its_reason_is_shown_anonymously(owner: Reader, ada: Reader) -> None:
    cube_id = create_public(owner)
    form = {"cube_id": cube_id, "vote": "useless", "reason": "<i>It ruined mine.</i>"}
    page = ada.followed(ada.send(f"{HERE}/vote", **form))
    page_text = words_of(owner.get(f"{HERE}?cube_id={cube_id}").text)

    assert "Vote saved. The lesson is published." in page.text
    assert "useless yours: ada <i>It ruined mine.</i>" in words_of(page.text)
    assert "0 useful, 1 useless" in page_text
    assert "<i>It ruined mine.</i>" in page_text
    assert "ada" not in page_text


def test_form_votes_as_the_chosen_user_and_the_page_names_the_voters(
    owner: Reader, ada: Reader
) -> None:
    cube_id = create_public(owner)
    ada.http.remember("Hello?", "Hello.", user_id="anna")
    path = f"{HERE}?cube_id={cube_id}"
    choices = re.findall(r"<option( selected)?>(\w+)</option>", ada.get(path).text)
    first = ada.followed(ada.send(f"{HERE}/vote", cube_id=cube_id, vote="useful", user_id="anna"))
    ada.send(f"{HERE}/vote", cube_id=cube_id, vote="useless", reason="It ruined mine.")
    ada.send(f"{HERE}/vote", cube_id=cube_id, vote="useless", reason="No.", user_id="ben")
    page_text, board_text = words_of(ada.get(path).text), words_of(ada.get(HERE).text)

    assert choices == [(" selected", "ada"), ("", "anna")]
    assert "<option selected>anna</option>" in first.text
    assert all(f"yours: {user}" in page_text for user in ("ada", "anna", "ben"))
    assert "0 useful, 1 useless" in page_text
    assert "1 useless yours: useless" in board_text


QUESTION = "How do I descale my kettle?"


def use(reader: Reader, cube_id: str, session_id: str, then: str = "Thanks! And the iron?") -> None:
    """Cite the lesson of `create_public` in a turn; `then` is the user's next message."""
    http = reader.http
    http.memory(QUESTION, session_id=session_id)
    where = {"user_id": reader.caller.account_name, "session_id": session_id}
    http.remember(QUESTION, f"With vinegar and water (ref: {cube_id}).", **where)
    http.memory(then, session_id=session_id)


def test_board_and_lesson_page_show_how_turns_with_it_ended(owner: Reader, ada: Reader) -> None:
    cube_id = create_public(owner)
    unused = words_of(owner.get(f"{HERE}?cube_id={cube_id}").text)
    board = words_of(owner.get(HERE).text)
    use(owner, cube_id, "good")
    helped = words_of(owner.get(HERE).text)
    use(owner, cube_id, "bad", then="No, that does not work.")

    own = words_of(owner.get(f"{HERE}?cube_id={cube_id}").text)
    other = words_of(ada.get(f"{HERE}?cube_id={cube_id}").text)

    assert "No search of your account has returned it yet." in unused
    assert "Latest searches" not in unused
    assert ("not returned" in board, "1 of 1" in helped) == (True, True)
    assert "2 searches returned it. It helped 1 of 2 turns that used it." in own
    assert "bad of owner cited ended badly the user corrected the answer" in own
    assert "good of owner cited ended well no objection" in own
    assert "helped" not in other
    assert "of owner" not in other
