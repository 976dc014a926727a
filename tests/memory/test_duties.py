"""The duties case by case, and their table in the documentation."""

from __future__ import annotations

import re
from dataclasses import replace

from architecture.tree import ROOT

from remembrancer.memory.duties import SessionCounts, check_duties
from remembrancer.protocol.seal import render

GOOD = SessionCounts(step=4, remembered_step=4, last_seal=render(4))
OWING = {
    "turn_not_remembered": replace(GOOD, remembered_step=3),
    "seal_step": replace(GOOD, last_seal=render(3)),
    "seal_name": replace(GOOD, last_seal=render(4, "SVC")),
    "seal_missing": replace(GOOD, last_seal=None),
    "seal_malformed": replace(GOOD, last_seal="sealed"),
    "cubes_unrated": replace(GOOD, unrated=("c_0000000000001",)),
    "look_due": replace(GOOD, is_look_due=True),
    "cube_due": replace(GOOD, turns_without_cube=3),
    "l1_due": replace(GOOD, turns=20, turns_without_l1=15),
    "l2_due": replace(GOOD, l1_count=13, l1_mapped=3),
}


def owed(standing: SessionCounts) -> dict[str, tuple[str, str]]:
    """Return the field and the text of the one thing that is due, by its word."""
    report = check_duties(standing)
    texts = [("duty_error", report.duty_error)] if report.duty_error else []
    texts += [("reminders", text) for text in report.reminders]
    return dict(zip(filter(None, report.words.split(",")), texts, strict=True))


def test_documentation_lists_every_case() -> None:
    """docs/reference/duties.md lists every case; on failure, paste the rows that differ."""
    page = (ROOT / "docs" / "reference" / "duties.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `(.*)` \| `(duty_error|reminders)` \| .* \| (.*) \|$", page, re.MULTILINE
    )

    assert [(word, field, text.replace("\\|", "|")) for word, field, text in rows] == [
        (word, *owed(standing)[word]) for word, standing in OWING.items()
    ]
