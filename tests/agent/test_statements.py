"""Negated sentences and swapped roles, compared by rules (specification.md#look-statements)."""

from __future__ import annotations

from datetime import date

import pytest

from bench.second_look.statements import SETS, Pair, counts, pairs, verdict
from remembrancer.claims.evidence import EventEvidence
from remembrancer.claims.review import CitedEvent, parse_draft, review
from remembrancer.protocol.agent import Check

DAY = date(2026, 3, 11)
RECALL_MIN = 0.9  # of the swapped and the negated drafts


def statement_checks(event: str, draft: str) -> list[Check]:
    """Return the checks of the statements of a draft that cites an event as `a`."""
    parsed = parse_draft(draft, DAY)
    cited = {ref: CitedEvent("shown", EventEvidence(ref, event, DAY)) for ref in parsed.refs}
    return [c for c in review(parsed, cited, "") if c.check == "statement_in_ref"]


@pytest.mark.parametrize("file", SETS.values())
def test_no_true_paraphrase_is_rejected(file: str) -> None:
    """The rules have a precision of 1 (specification.md#look-statements)."""
    all_pairs = list(pairs(file))
    by_label = counts(all_pairs)

    assert len(all_pairs) >= 120
    assert [p for p in all_pairs if p.label == "same" and verdict(p) not in (None, "same")] == []
    for label in ("roles", "negation"):
        row = by_label[label]
        assert row["roles"] + row["negation"] >= RECALL_MIN * row["pairs"]


@pytest.mark.parametrize(
    ("language", "event", "draft", "expected"),
    [
        ("en", "Ada owes Ben 40 €.", "Ben owes Ada 40 €.", "roles"),
        ("en", "Ada owes Ben 40 €.", "Ben is owed 40 € by Ada.", "same"),
        ("en", "The port is not 8080.", "The port is 8080.", "negation"),
        ("en", "The port is 8080.", "The port is not 8080.", "negation"),
        ("en", "The shop isn't open on Sundays.", "The shop is open.", None),
        ("en", "Andrew met Audrey.", "Audrey met Andrew.", None),
        ("de", "Paul isst kein Fleisch.", "Paul isst Fleisch.", "negation"),
        ("fr", "Le prix passe de 12 à 15 euros.", "Le prix passe de 15 à 12 euros.", "roles"),
        ("es", "Pablo invitó a Irene.", "Irene invitó a Pablo.", "roles"),
        ("it", "La porta non è 9000.", "La porta è 9000.", "negation"),
        ("ru", "Мария пригласила Ивана.", "Иван пригласил Марию.", "roles"),
        ("ru", "Ивана пригласила Мария.", "Мария пригласила Ивана.", "same"),
        ("zh", "小张比小赵高。", "小赵比小张高。", "roles"),
    ],
)
def test_verdicts_in_seven_languages(
    language: str, event: str, draft: str, expected: str | None
) -> None:
    assert verdict(Pair(language, expected or "same", event, draft)) == expected


@pytest.mark.parametrize(
    "text", ["not " * 3_000, "a, " * 9_000, "1 2 " * 5_000, "不" * 5_000, "n't's"]
)
def test_any_text_is_compared(text: str) -> None:
    statement_checks(text, f"{text} (ref: a)")
