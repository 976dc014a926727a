"""The page Knows: the start pack line by line, and proposals."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from console.reader import Reader, words_of
from service import rows

HERE = "/console/knows"


def form_of(page: str, text: str) -> dict[str, Any]:
    """Return the fields of the form of a proposal that has a text."""
    [form] = [one for one in re.findall(r"(?s)<form.*?</form>", page) if text in unescape(one)]
    fields = dict(re.findall(r'name="(kind|session_id|day|user_id)" value="([^"]*)"', form))
    [body] = re.findall(r"(?s)<textarea[^>]*>\n(.*?)</textarea>", form)
    return fields | {"text": unescape(body)}


def test_page_shows_each_line_of_the_pack_with_its_source_and_date(owner: Reader) -> None:
    turn = owner.http.remember(
        "q", "r", critical="The car is 4.62 m long.", occurred_at="2025-03-01T09:30:00Z"
    )
    for text in ("Always answer in German.", "Ada sails."):
        owner.http.post("/api/v7/memory/facts", {"user_id": "owner", "text": text})
    page = owner.get(HERE).text
    text = words_of(page)
    pack = owner.http.get("/api/v7/memory/start", params={"client": "hooks"}).json()

    assert "Always answer in German. since" in text.split("Wishes")[1].split("Facts")[0]
    assert "The car is 4.62 m long. since 2025-03-01 from model turn Pin Edit" in text
    assert f"event_id={turn['event_id']}" in page
    assert f"{pack['tokens']} tokens" in text
    assert unescape(page).count("Ada sails.") == 2  # the line, and the text as the agent gets it


def test_the_pack_of_a_project_shows_its_last_report_and_its_names(owner: Reader) -> None:
    for session in ("one", "two"):
        owner.http.remember(
            "Deploy", "Ran `make deploy`.", session_id=session, metadata={"project": "garden"}
        )

    text = words_of(owner.get(f"{HERE}?project=garden").text)

    assert "Files and commands of several sessions" in text
    assert text.count("`make deploy`") >= 2  # the line, and the text as the agent gets it


def test_proposals_are_stored_one_by_one_and_only_when_accepted(owner: Reader) -> None:
    """Without a model, sentences of the turns (specification.md#console-proposals)."""
    said = "My sister lives above a bakery in Genoa. What can I bake?"
    for n in range(6):
        owner.http.remember(
            said if n == 3 else f"And cake {n}?",
            f"Bake cake {n} with almonds and plums. " * 3,
            session_id="bakery",
        )
    before = rows(owner.context)
    page = owner.get(HERE).text  # nothing is known: proposals come by themselves
    assert rows(owner.context) == before

    fact = form_of(page, 'value="fact"')
    assert fact["text"] == "My sister lives above a bakery in Genoa."
    summary = form_of(page, 'value="summary"')
    assert "What can I bake?" not in fact["text"]
    page = owner.followed(owner.send(f"{HERE}/accept", **fact)).text
    assert "The fact is stored." in page
    assert "My sister lives above a bakery in Genoa." in page.split('id="proposals"')[0]
    assert 'value="fact"' not in page
    owner.followed(owner.send(f"{HERE}/accept", **summary))

    [stored] = owner.http.get("/api/v7/memory/facts").json()["facts"]
    assert (stored["text"], stored["source"]) == (
        "My sister lives above a bakery in Genoa.",
        "user",
    )
    kept = owner.get("/console/memory?kind=summary").text
    assert words_of(summary["text"])[:40] in words_of(kept)
    assert 'value="summary"' not in owner.get(f"{HERE}?propose=yes").text


def test_profile_is_rebuilt_from_summaries(owner: Reader) -> None:
    owner.http.remember("Where is the saw?", "In the shed. " * 30, session_id="s")
    owner.http.post(
        "/api/v7/memory/summarize",
        {"user_id": "owner", "session_id": "s", "summary_text": "The saw is in the shed."},
    )
    page = owner.followed(owner.send(f"{HERE}/rebuild", user_id="owner")).text

    assert "Version 1 of the profile is created from 1 summaries." in page
    assert "The saw is in the shed." in page.split("Profile")[1]
    assert owner.send(f"{HERE}/rebuild", user_id="nobody").status_code == 422
