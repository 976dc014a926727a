"""Exports: every list as CSV and JSON, with the filters of its page."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from console.pages import EVERY_PAGE, FILES
from console.reader import Reader
from console.things import put_facts, put_permissions, put_things
from service import Http

from remembrancer.console.exports import LISTS, as_csv

PATH = "/console/export"
LINK = re.compile(r'href="(/console/export\?[^"]+)"')


@pytest.fixture
def filled(owner: Reader) -> Http:
    """Records of every kind, and one search of the protocol."""
    http = owner.http
    put_things(http)
    put_facts(http, user_id="owner")
    put_permissions(http)
    owner.client.app.state.dispatcher.usage_counter.add()  # type: ignore[attr-defined]
    return http


def addresses(http: Http) -> list[str]:
    """Return pages with lists and views of one record."""
    event_id = http.memory("ferry", interact=False)["hits"][0]["event_id"]
    return [
        *(path for path in EVERY_PAGE if path not in FILES),
        "/console/memory?query=ferry",
        "/console/sessions?session_id=trip-to-elba",
        "/console/searches?session_id=trip-to-elba&step=1",
        f"/console/memory?event_id={event_id}&look=again",
        "/console/memory?kind=fact&status=all",
        "/console/memory?kind=session",
        "/console/memory?kind=summary",
    ]


def test_every_list_is_exported_from_its_page(filled: Http, owner: Reader) -> None:
    links = {
        link.replace("&amp;", "&")
        for path in addresses(filled)
        for link in LINK.findall(owner.get(path).text)
    }
    answers = {link: owner.get(link) for link in links}

    assert {parse_qs(urlsplit(link).query)["list"][0] for link in links} == set(LISTS)
    assert {link: one.status_code for link, one in answers.items() if one.status_code != 200} == {}
    for link, answer in answers.items():
        if "format=csv" in link:
            lines = list(csv.reader(io.StringIO(answer.text)))
            assert {len(line) for line in lines} <= {len(lines[0])} if lines else True, link
            assert answer.headers["content-type"].startswith("text/csv")
        else:
            assert isinstance(answer.json(), list)
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_text_that_a_spreadsheet_would_run_is_quoted(owner: Reader, start: str) -> None:
    http = owner.http
    http.post(
        "/api/v7/event/write", {"user_id": "owner", "query": f"{start} of cells", "response": "no"}
    )
    text = owner.get(f"{PATH}?list=turns&format=csv").text
    line = dict(zip(*csv.reader(io.StringIO(text, newline="")), strict=True))

    assert line["query"].startswith("'")
    assert "".join(as_csv([[{"n": -1, "text": "-1"}]])).splitlines() == ["n,text", "-1,'-1"]


@pytest.mark.parametrize("name", ["audit", "grants"])
def test_export_for_owners_is_forbidden_for_members(ada: Reader, name: str) -> None:
    assert ada.get(f"{PATH}?list={name}&format=csv").status_code == 403


@pytest.mark.parametrize("query", ["", "list=none", "list=turns&format=xls", "list=turns&after=x"])
def test_wrong_export_is_refused(owner: Reader, query: str) -> None:
    assert owner.get(f"{PATH}?{query}").status_code == 422
