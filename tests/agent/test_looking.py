"""Reviews of drafts against their events: values, negated sentences and swapped roles."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from

from bench.second_look.statements import SETS, Pair, counts, pairs, verdict
from remembrancer.claims.evidence import EventEvidence
from remembrancer.claims.review import CitedEvent, parse_draft, review
from remembrancer.protocol.agent import Check

DAY = date(2026, 3, 11)
EVENTS = {
    "a": "Anna will pay 1,250 EUR for the hall tomorrow.",
    "b": "The launch of Orion is on 14 May 2026.",
    "c": "Договор с Сергеем Кузнецовым, участок двенадцать соток.",
}


def failed(draft: str) -> list[tuple[str, str | None]]:
    """Return the failed checks of a draft over EVENTS: names and excerpts."""
    selected = parse_draft(draft, date(2026, 11, 20))
    cited = {
        ref: (
            CitedEvent("shown", EventEvidence(ref, EVENTS[ref], DAY))
            if ref in EVENTS
            else CitedEvent("unknown")
        )
        for ref in selected.refs
    }
    return [
        (check.check, check.claim)
        for check in review(selected, cited, "")
        if check.status == "fail"
    ]


@pytest.mark.parametrize(
    "draft",
    [
        "Anna pays €1250 (ref: a), and Orion launches on May 14 (ref: b).",
        "Anna pays €1250. (ref: a) Orion launches on May 14. (ref: b)",
        "Anna pays €1250 and Orion launches on May 14 (ref: a, b).",
        "Anna pays €1250 and Orion launches on May 14 (ref: a)(ref: b).",
        "Memory says (ref: a) that Anna pays €1250.",
        "- Anna pays €1250 (ref: a)\n- Orion launches on May 14 (ref: b)",
        "| who | how much |\n|---|---|\n| Anna (ref: a) | 1250 EUR (ref: a) |",
        "## Orion in 2026\nIt launches on 14 May (ref: b).",
        "付款1250欧元（ref：a）。",
        "Anna pays on 12 March 2026 (ref: a).",
        "Это договор Сергея Кузнецова, 1200 м² (ref: c).",
        "It is `1250` EUR (ref: `a`).",
        "Does Bob Miller pay 7 EUR?",
        "```\nport = 5544\n```",
        "1. Anna pays 1250 EUR (ref: a)\n2. Good.",
        "Am 14. Mai 2026 geht es los (ref: b).",
        "About 9 km [general] from there Anna pays 1,250 EUR (ref: a).",
        "Anna pays 1,300 EUR (ref: a) [unverified].",
    ],
)
def test_supported_drafts_pass(draft: str) -> None:
    assert failed(draft) == []


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (
            "Anna pays €1250 (ref: b), and Orion launches on May 14 (ref: a).",
            [("number_in_ref", "€1250"), ("name_in_ref", "Orion"), ("date_in_ref", "May 14")],
        ),
        (
            "The hall costs 1250 EUR. Orion launches on May 14 (ref: b).",
            [("claim_marked", "1250 EUR")],
        ),
        ("The hall costs 1250 EUR.\n(ref: a)", [("claim_marked", "1250 EUR")]),
        (
            "It is 9 km [general](https://a.example/).",
            [("claim_marked", "9 km"), ("claim_marked", "https://a.example/")],
        ),
        ("It is 9 km (ref: ).", [("claim_marked", "9 km"), ("ref_exists", "(ref: )")]),
        ("It is 1250 EUR (ref: x).", [("ref_exists", "x")]),
        ("The launch is on 14 May 2027 (ref: b).", [("date_in_ref", "14 May 2027")]),
        ("Anna pays 1,250 EUR and 7% (ref: a).", [("number_in_ref", "7%")]),
        (
            "It begins on 15.05.2026 um 8:30 Uhr (ref: b).",
            [("date_in_ref", "15.05.2026"), ("number_in_ref", "8:30 Uhr")],
        ),
    ],
)
def test_unsupported_drafts_fail(draft: str, expected: list[tuple[str, str]]) -> None:
    assert failed(draft) == expected


@pytest.mark.parametrize(
    ("url", "holds"),
    [
        ("https://venue.example/pay", True),
        ("venue.example", False),
        ("https://venue.example/pa", False),
        ("https://venue.example", False),
        ("https://example/pay", False),
        ("https://other.example/a", True),
        ("http://www.Other.example/a/", True),
        ("https://other.example/A", False),
        ("https://bad.example/x", False),
    ],
)
def test_url_must_match_completely(url: str, holds: bool) -> None:
    event = EventEvidence(
        "e",
        "Pay at venue.example/pay, see https://other.example/a. Not"
        " https://go.example/?to=bad.example/x",
        DAY,
    )
    selected = parse_draft(f"Look at {url} (ref: e).", DAY)

    checks = [
        check.status
        for check in review(selected, {"e": CitedEvent("shown", event)}, "")
        if check.check == "url_in_ref"
    ]
    assert checks == ([] if "://" not in url else ["pass" if holds else "fail"])


@given(
    lists(
        sampled_from(
            [
                *EVENTS.values(),
                "5 km.",
                "Bob Miller",
                "gestern",
                "百分之三十",
                "\n",
                "[general]",
                "(ref: a)",
                "https://a.example",
            ]
        ),
        max_size=12,
    )
)
def test_text_supports_all_of_its_own_claims(parts: list[str]) -> None:
    """Every claim of a draft is supported by an event with the same text."""
    whole_text = " ".join(parts)
    selected = parse_draft(" ".join(f"{part} (ref: e)" for part in parts if part != "\n"), DAY)
    cited = {ref: CitedEvent("shown", EventEvidence(ref, whole_text, DAY)) for ref in selected.refs}

    assert [
        check
        for check in review(selected, cited, "")
        if check.check.endswith("_in_ref") and check.status == "fail"
    ] == []


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
