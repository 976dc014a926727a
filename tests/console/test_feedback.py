"""The feedback page: all reports for the owner, their own reports for other accounts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from console.reader import Reader, words_of
from service import rows

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.feedback import submit_feedback
from remembrancer.protocol.feedback import Feedback

PATH = "/console/feedback"
BUG = {
    "type": "bug",
    "title": "A hit is cut in two",
    "description": "The second half\r\nis missing.",
    "severity": "3",
}


def submit(reader: Reader, title: str, kind: str = "bug") -> None:
    feedback = Feedback.model_validate(
        {"type": kind, "title": title, "description": "What happened."}
    )
    submit_feedback(reader.context, reader.caller, feedback)


def test_owner_sees_the_reports_of_all_accounts(owner: Reader, ada: Reader) -> None:
    submit(ada, "from ada")
    submit(owner, "from the owner")
    page = words_of(owner.get(PATH).text)

    assert page.index("from the owner") < page.index("from ada")
    assert "from ada Bug ada 2026-01-01 00:00" in page


def test_members_see_only_their_own_reports(owner: Reader, ada: Reader) -> None:
    """The owner sees the whole service, members only their own account."""
    submit(ada, "from ada")
    submit(owner, "from the owner")
    page = ada.get(PATH).text

    assert ("from ada" in page, "from the owner" in page) == (True, False)


def test_cursor_of_another_account_returns_404(
    owner: Reader, ada: Reader, context: Context
) -> None:
    submit(owner, "from the owner")
    feedback_id = context.store.read(
        lambda tx: tx.one("select feedback_id from feedback")
    ).feedback_id

    assert (
        owner.get(f"{PATH}?before={feedback_id}").status_code,
        ada.get(f"{PATH}?before={feedback_id}").status_code,
    ) == (200, 404)


def test_reports_are_filtered_by_type(owner: Reader) -> None:
    submit(owner, "it breaks", "bug")
    submit(owner, "it leaks", "security")
    page = owner.get(f"{PATH}?type=security").text

    assert ("it leaks" in page, "it breaks" in page) == (True, False)
    assert '<a href="/console/feedback?type=security" aria-current="true">' in page
    assert "it breaks" in owner.get(f"{PATH}?type=nonsense").text


def test_older_reports_are_on_the_next_page(owner: Reader) -> None:
    for n in range(26):
        submit(owner, f"number {n:02}")
    first = owner.get(f"{PATH}?type=bug").text
    [older] = re.findall(r'<a href="([^"]+)">Older', first)
    second = owner.get(html.unescape(older)).text

    assert ("number 25" in first, "number 00" in first) == (True, False)
    assert ("number 25" in second, "number 00" in second) == (False, True)


def test_submitted_feedback_is_stored_as_typed(
    ada: Reader, owner: Reader, context: Context
) -> None:
    ada.followed(ada.send(f"{PATH}/give", **BUG))
    stored_row = context.store.read(
        lambda tx: tx.one("select type, title, description, severity from feedback")
    )

    assert tuple(stored_row) == ("bug", "A hit is cut in two", "The second half\nis missing.", 3)
    assert "severity 3 of 4" in words_of(owner.get(PATH).text)


@pytest.mark.parametrize(
    "other",
    [
        {"type": "praise"},
        {"title": ""},
        {"title": "a" * 201},
        {"description": " "},
        {"severity": "5"},
        {"severity": "bad"},
    ],
    ids=str,
)
def test_invalid_input_is_reported_and_stays_in_the_form(
    ada: Reader, context: Context, other: dict[str, str]
) -> None:
    answer = ada.send(f"{PATH}/give", **(BUG | {"description": "all that I typed"} | other))

    assert (answer.status_code, 'role="alert"' in answer.text, rows(context)["feedback"]) == (
        422,
        True,
        0,
    )
    assert "description" in other or "all that I typed" in answer.text


class TestLimits:
    """The rate limit of `POST /api/v7/feedback` applies to the page, too."""

    @pytest.fixture
    def context(self, folder: Path) -> Iterator[Context]:
        service = testing.context(folder)
        yield replace(service, settings=replace(service.settings, rate_feedback_per_minute=2))
        service.close()

    def test_feedback_rate_limit_is_per_account(
        self, ada: Reader, owner: Reader, context: Context
    ) -> None:
        answers = [ada.send(f"{PATH}/give", **BUG) for _ in range(3)]

        assert ([answer.status_code for answer in answers], rows(context)["feedback"]) == (
            [303, 303, 429],
            2,
        )
        assert BUG["title"] in answers[2].text  # the form keeps the input
        assert f"Try again in {answers[2].headers['retry-after']} seconds" in words_of(
            answers[2].text
        )
        assert owner.send(f"{PATH}/give", **BUG).status_code == 303


def test_empty_inbox_explains_how_to_send_feedback(owner: Reader) -> None:
    assert "/api/v7/feedback" in words_of(owner.get(PATH).text)
