"""Values as clients really write them: words for nothing, kinds of cubes, names of languages."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

from remembrancer.protocol.text import is_placeholder

TURN = {"query": "When?", "response": "At nine."}
CUBE = {"cube_topic": "ferries", "cube_essence": "They wait.", "cube_rules": "- MUST wait"}
WORDS = ["none", "None.", " NONE\n", "-", "—", "n/a", "N/A", "null", "nothing", "(none)", "<none>",
         "`none`", "**None**", "нет", "Нет данных.", "无", "なし", "keine", "aucun", "..."]  # fmt: skip


def test_words_for_nothing_are_recognised() -> None:
    said = ["no meat", "None of them sail.", "-5 °C", "Nada is her name.", "0", "not yet", "nono"]

    assert [text for text in (*WORDS, *said) if not is_placeholder(text)] == said


def test_part_with_only_such_a_word_is_skipped(http: Http) -> None:
    """Its receipt says so (specification.md#remember-empty-parts)."""
    for part in ("critical", "l1_summary", "l2_map"):
        answer = http.remember(**TURN, **{part: "None."}, session_id=part)
        receipts = {receipt["part"]: receipt for receipt in answer["receipts"]}
        assert (receipts[part]["outcome"], receipts["turn"]["outcome"]) == ("skipped", "stored")
        assert "nothing to store" in receipts[part]["detail"]
    assert [http.rows()[table] for table in ("facts", "summaries", "maps")] == [0, 0, 0]


def test_cube_of_such_words_is_none(http: Http) -> None:
    """No cube is proposed (specification.md#remember-empty-parts)."""
    words = {"cube_topic": "none", "cube_essence": "-", "cube_rules": "n/a", "cube_type": "none"}
    answer = http.remember(**TURN, **words, cube_evidence="none", model="null")

    assert answer["cube"] == "none was proposed"
    assert ("cube", "skipped") in [(r["part"], r["outcome"]) for r in answer["receipts"]]
    assert http.rows()["cubes"] == 0


def test_duty_without_a_cube_may_send_such_words(http: Http) -> None:
    """They contradict no duty (specification.md#remember-contradictions)."""
    duty = {"duty": "cube_nothing", "duty_reason": "nothing new", "cube_topic": "none"}

    assert http.remember(**TURN, **duty)["cube"] == "none: nothing new"


def test_evidence_and_model_of_a_cube_without_words(http: Http) -> None:
    """Evidence is then the turn, and no model is named.

    See specification.md#remember-empty-parts, specification.md#cube-kind-names.
    """
    answer = http.remember(**TURN, **CUBE, cube_evidence="N/A", model="none")
    assert http.post("/api/v7/experience/create", {**CREATE, "model": "None"}).status_code == 200
    cubes = http.context.store.read(lambda tx: tx.all("select evidence, model from cubes"))

    assert [cube.model for cube in cubes] == [None, None]
    assert answer["event_id"] in [cube.evidence for cube in cubes]


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


def test_such_words_of_people_are_stored(http: Http) -> None:
    """A turn is stored word for word (specification.md#remember-verbatim)."""
    saved = http.remember("Anything else?", "none")

    assert http.get(f"/api/v7/event/{saved['event_id']}").json()["response"] == "none"


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
