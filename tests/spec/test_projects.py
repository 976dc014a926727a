"""Search, facts, wishes and the start pack of one project among several.

specification.md#search-project
"""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

ORCHARD, KESTREL = "github.com/acme/orchard", "github.com/acme/kestrel"


def say(http: Http, project: str, query: str, response: str = "Noted.", **fields: Any) -> str:
    """Remember a turn of a project; return its event id."""
    fields.setdefault("session_id", project)
    metadata = {"project": project}
    return str(http.remember(query, response, metadata=metadata, **fields)["event_id"])


def search(http: Http, query: str, project: str | None = None, **fields: Any) -> dict[str, Any]:
    answer = http.memory(query, session_id="now", interact=False, project=project, **fields)
    return dict(answer)


def test_the_open_project_comes_first(http: Http) -> None:
    orchard = say(http, ORCHARD, "How do I deploy to staging?", "Run `make deploy ENV=staging`.")
    kestrel = say(http, KESTREL, "How do I deploy to staging?", "Push the tag `staging-N`.")

    for project, own in ((ORCHARD, orchard), (KESTREL, kestrel)):
        hits = search(http, "Deploy to staging", project)["hits"]
        assert hits[0]["event_id"] == own
        assert [hit["event_id"] for hit in hits if "project" not in hit] == [own]


def test_another_projects_clear_answer_is_served_with_its_name(http: Http) -> None:
    """And what is not clearly the answer is left out; without a project nothing is."""
    say(http, ORCHARD, "Which colours has the shop?", "Green and white.")
    clear = "Kestrel's ingest queue is called kestrel-ingest-7."
    say(http, KESTREL, clear)
    say(http, KESTREL, "The nightly job runs at 02:15.")

    answer = search(http, "What is Kestrel's ingest queue called?", ORCHARD)
    weak = search(http, "What time is it in Lisbon at night?", ORCHARD)
    open_search = search(http, "What time is it in Lisbon at night?")

    hit = next(one for one in answer["hits"] if one["query"] == clear)
    assert hit["project"] == KESTREL
    assert [hit for hit in weak["hits"] if "project" in hit] == []
    assert any(hit["metadata"] == {"project": KESTREL} for hit in open_search["hits"])


@pytest.mark.parametrize(
    ("wish", "is_of_person"),
    [
        ("Use pnpm, not npm, for everything in this repo.", False),
        ("We never push to main.", False),
        ("In this project I prefer tabs.", False),
        ("I prefer short answers.", True),
        ("Always answer me in German.", True),
        ("Ich bevorzuge kurze Antworten.", True),
        ("Réponds-moi toujours en français.", True),
    ],
)
def test_a_wish_belongs_to_the_project_or_to_the_person(
    http: Http, wish: str, is_of_person: bool
) -> None:
    say(http, ORCHARD, wish, critical=wish)

    facts = http.get("/api/v7/memory/facts", params={"status": "current"}).json()["facts"]
    elsewhere = http.get("/api/v7/memory/start", params={"project": KESTREL}).json()["prompt_text"]
    here = http.get("/api/v7/memory/start", params={"project": ORCHARD}).json()["prompt_text"]

    assert all(("metadata" not in fact) is is_of_person for fact in facts)
    assert (wish in elsewhere, wish in here) == (is_of_person, True)


def test_a_wish_of_one_project_ends_none_of_another_and_said_in_both_it_is_the_persons(
    http: Http,
) -> None:
    say(http, ORCHARD, "Set up.", critical="Always use pnpm.")
    say(http, KESTREL, "Set up.", critical="Never use pnpm.")
    apart = [search(http, "Add a package", one)["instructions"] for one in (ORCHARD, KESTREL)]
    say(http, KESTREL, "Set up again.", critical="Always run the linter.", session_id="k2")
    say(http, ORCHARD, "Set up again.", critical="Always run the linter.", session_id="o2")
    third = search(http, "Add a package", "github.com/acme/third")["instructions"]

    assert [[one["text"] for one in some] for some in apart] == [
        ["Always use pnpm."],
        ["Never use pnpm."],
    ]
    assert [one["text"] for one in third] == ["Always run the linter."]


def test_a_new_value_in_one_project_replaces_none_in_another(http: Http) -> None:
    say(http, ORCHARD, "The staging database is on port 6543.")
    say(http, KESTREL, "The staging database is on port 5432.")

    for project, port in ((ORCHARD, "6543"), (KESTREL, "5432")):
        hit = search(http, "On which port is the staging database?", project)["hits"][0]
        assert port in hit["query"]
        assert "superseded_by" not in hit


def test_the_start_pack_says_what_mattered_here(http: Http) -> None:
    """The last report of the project, and the files and commands of several of its sessions."""
    report = "The importer writes to `src/out.csv` now and all 40 tests of the project pass."
    say(http, ORCHARD, "Deploy", "Ran `make deploy` with `fly.toml`.", session_id="one")
    say(http, ORCHARD, "Deploy again", "Ran `make deploy`, `Ready` is set.", session_id="two")
    say(http, ORCHARD, "`Ready` is gone?", "See `fly.toml`.", session_id="two")
    say(http, ORCHARD, "Change the importer", report, session_id="three")
    say(http, ORCHARD, "That is all for today, see you tomorrow", "Bye.", session_id="three")
    say(http, KESTREL, "`git push` or `make deploy`?", "`git push`.", session_id="four")
    say(http, KESTREL, "Again", "Did `git push`.", session_id="five")

    pack = http.get("/api/v7/memory/start", params={"project": ORCHARD, "format": "json"}).json()

    [day, _, rest] = pack["parts"]["last_session"].partition(" ")
    assert rest == f"Change the importer → {report}"
    assert pack["parts"]["names"] == f"{day} `fly.toml`, `make deploy`"
    assert pack["parts"]["names"] in pack["prompt_text"]


def test_the_start_pack_has_the_values_decided_here_last(http: Http) -> None:
    """Each setting once, whatever the words around it (specification.md#start-project)."""
    say(http, ORCHARD, "Take 30.", "`LOGIN_MAX=30`, and `push.sh`.", session_id="one")
    say(http, ORCHARD, "Besser 40.", "Jetzt `LOGIN_MAX=40` , vorher 30.", session_id="two")
    say(
        http,
        ORCHARD,
        "`port: 6543` please",
        "Done, not `a == b` nor `make db:up`.",
        session_id="two",
    )
    say(http, KESTREL, "Take 50.", "`LOGIN_MAX=50`", session_id="three")

    pack = http.get("/api/v7/memory/start", params={"project": ORCHARD, "format": "json"}).json()

    lines = pack["parts"]["decisions"]
    assert [line.partition(" ")[2] for line in lines] == ["`port: 6543`", "`LOGIN_MAX=40`"]
    assert "# Decided here last\n- " + "\n- ".join(lines) in pack["prompt_text"]
