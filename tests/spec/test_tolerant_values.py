"""Values as clients really write them: words for nothing, kinds of cubes, names of languages."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

TURN = {"query": "When?", "response": "At nine."}
CUBE = {"cube_topic": "ferries", "cube_essence": "They wait.", "cube_rules": "- MUST wait"}


def test_part_with_only_such_a_word_is_skipped(http: Http) -> None:
    """Its receipt says so (specification.md#remember-empty-parts)."""
    for part in ("critical", "l1_summary", "l2_map"):
        answer = http.remember(**TURN, **{part: "None."}, session_id=part)
        receipts = {receipt["part"]: receipt for receipt in answer["receipts"]}
        assert (receipts[part]["outcome"], receipts["turn"]["outcome"]) == ("skipped", "stored")
        assert "nothing to store" in receipts[part]["detail"]
    assert [http.rows()[table] for table in ("facts", "summaries", "maps")] == [0, 0, 0]


def test_cube_with_one_such_word_is_incomplete(http: Http) -> None:
    """A cube needs all its texts, and each must say something.

    See specification.md#remember-contradictions, specification.md#cube-required-texts.
    """
    for path, body in BODIES:
        for name in sorted({*CUBE, *CREATE} & {*body}):
            answer = http.post(path, {**body, name: "none"})
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/{name}")


def test_request_of_such_words_alone_is_422(http: Http) -> None:
    """Nothing is left to store (specification.md#remember-nothing)."""
    before = http.rows()

    for body in ({"critical": "none"}, {"l2_map": "-"}, {"cube_topic": "n/a"}):
        assert http.post("/api/v7/remember", body).status_code == 422
    assert http.rows() == before


KINDS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "warning"}, "warning"),
    ({"cube_type": "warning"}, "warning"),
    ({"kind": " Warning "}, "warning"),
    ({"cube_type": "LIFEHACK"}, "lifehack"),
    ({"kind": "code", "cube_type": "Code"}, "code"),
    ({"kind": None, "cube_type": "code"}, "code"),
    ({"kind": "none"}, "fact"),
    ({}, "fact"),
]
CREATE = {"topic": "t", "essence": "e", "rules_markdown": "- MUST wait", "evidence": "docs"}
BODIES: list[tuple[str, dict[str, str]]] = [
    ("/api/v7/remember", {**TURN, **CUBE}),
    ("/api/v7/experience/create", CREATE),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_kind_has_two_names(http: Http, path: str, body: dict[str, str]) -> None:
    """`kind` and `cube_type` mean the same (specification.md#cube-kind-names)."""
    for n, (names, kind) in enumerate(KINDS):
        text = f"Ferries of harbour {n} wait in their own way."
        own = {"session_id": f"s{n}", "cube_essence": text, "essence": text}
        assert http.post(path, body | own | names).status_code == 200
        cubes = http.context.store.read(lambda tx: tx.all("select kind from cubes order by id"))

        assert (len(cubes), cubes[-1].kind) == (n + 1, kind)


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_contradictory_or_unknown_kind_is_422(http: Http, path: str, body: dict[str, str]) -> None:
    """Both names with different values are a 422 (specification.md#cube-kind-names)."""
    for names in ({"kind": "code", "cube_type": "fact"}, {"kind": "tip"}, {"cube_type": "tip"}):
        answer = http.post(path, {**body, **names})

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] in {"/kind", "/cube_type"}
    assert http.rows()["cubes"] == 0


def test_language_python_has_aliases_and_no_other_runs(http: Http) -> None:
    """`py` and `python3` are Python; no other language runs (specification.md#sandbox-language)."""
    body = {"code": "6 * 7"}
    for language in ("python", "Python", " python3 ", "py", "PY", None):
        answer = http.post("/api/execute/code", {**body, "language": language})
        assert (answer.status_code, answer.json()["result"]) == (200, "42")
    for language in ("javascript", "python2", "", "pyth on"):
        answer = http.post("/api/execute/code", {**body, "language": language})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/language")
