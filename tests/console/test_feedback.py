"""The feedback page: all reports for the owner, their own reports for other accounts."""

from __future__ import annotations

import pytest
from console.reader import Reader, words_of
from service import rows

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


def id_of(reader: Reader) -> str:
    """Return the id of the only report."""
    [report] = reader.http.get("/api/v7/feedback").json()["feedback"]
    return str(report["feedback_id"])


def test_owner_sees_all_reports_and_members_their_own(owner: Reader, ada: Reader) -> None:
    """The owner sees the whole service, members only their own account."""
    submit(ada, "from ada")
    submit(owner, "from the owner")
    page, own = words_of(owner.get(PATH).text), ada.get(PATH).text

    assert page.index("from the owner") < page.index("from ada")
    assert "from ada Bug ada 2026-01-01 00:00" in page
    assert ("from ada" in own, "from the owner" in own) == (True, False)


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

    assert (answer.status_code, 'role="alert"' in answer.text) == (422, True)
    assert rows(context)["feedback"] == 0
    assert "description" in other or "all that I typed" in answer.text


@pytest.mark.settings(rate_feedback_per_minute=2)
def test_feedback_rate_limit_is_per_account(ada: Reader, owner: Reader, context: Context) -> None:
    """The rate limit of `POST /api/v7/feedback` applies to the page, too; it keeps the input."""
    *given, refused = (ada.send(f"{PATH}/give", **BUG) for _ in range(3))

    assert [answer.status_code for answer in given] == [303, 303]
    assert (refused.status_code, rows(context)["feedback"]) == (429, 2)
    assert BUG["title"] in refused.text
    assert f"Try again in {refused.headers['retry-after']} seconds" in words_of(refused.text)
    assert owner.send(f"{PATH}/give", **BUG).status_code == 303


class TestClosing:
    """The owner closes reports with an answer, which the sender sees; others cannot."""

    def test_closed_report_leaves_the_inbox_and_its_sender_sees_the_answer(
        self, owner: Reader, ada: Reader
    ) -> None:
        submit(ada, "from ada")
        feedback_id = id_of(owner)
        page = owner.followed(
            owner.send(f"{PATH}/state", feedback_id=feedback_id, do="close", note="Mended in 0.2.")
        )

        assert "from ada" not in page.text
        assert "No open reports" in page.text
        closed = words_of(ada.get(f"{PATH}?state=closed").text)
        assert "from ada" in closed
        assert "closed 2026-01-01 00:00 Answer Mended in 0.2." in closed
        assert "Open again" not in closed

    def test_members_cannot_close_reports(self, owner: Reader, ada: Reader) -> None:
        submit(ada, "from ada")
        before = rows(ada.context)
        answer = ada.send(f"{PATH}/state", feedback_id=id_of(owner), do="close")

        assert answer.status_code == 403
        assert "from ada" in ada.get(PATH).text
        assert rows(ada.context) == before

    def test_unknown_report_and_long_answer_are_refused(self, owner: Reader) -> None:
        assert owner.send(f"{PATH}/state", feedback_id="f_none", do="close").status_code == 404
        long = owner.send(f"{PATH}/state", feedback_id="f_none", note="x" * 3_000)
        assert long.status_code == 422
