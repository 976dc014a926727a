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


@pytest.mark.parametrize("word", WORDS)
def test_word_for_nothing_is_recognised(word: str) -> None:
    assert is_placeholder(word)


@pytest.mark.parametrize(
    "text", ["no meat", "None of them sail.", "-5 °C", "Nada is her name.", "0", "not yet", "nono"]
)
def test_text_that_says_something_is_kept(text: str) -> None:
    assert not is_placeholder(text)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("part", ["critical", "l1_summary", "l2_map"])
def test_part_with_only_such_a_word_is_skipped(http: Http, part: str, word: str) -> None:
    """Its receipt says so (specification.md#remember-empty-parts)."""
    answer = http.remember(**TURN, **{part: word})

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
    """Evidence is then the turn, and no model is named (specification.md#remember-empty-parts)."""
    answer = http.remember(**TURN, **CUBE, cube_evidence="N/A", model="none")
    [cube] = http.context.store.read(lambda tx: tx.all("select evidence, model from cubes"))

    assert (cube.evidence, cube.model) == (answer["event_id"], None)


@pytest.mark.parametrize("name", [*CUBE])
def test_cube_with_one_such_word_is_incomplete(http: Http, name: str) -> None:
    """A cube needs all its texts (specification.md#remember-contradictions)."""
    answer = http.post("/api/v7/remember", {**TURN, **CUBE, name: "none"})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/{name}")


@pytest.mark.parametrize("body", [{"critical": "none"}, {"l2_map": "-"}, {"cube_topic": "n/a"}])
def test_request_of_such_words_alone_is_422(http: Http, body: dict[str, Any]) -> None:
    """Nothing is left to store (specification.md#remember-nothing)."""
    before = http.rows()

    assert http.post("/api/v7/remember", body).status_code == 422
    assert http.rows() == before


@pytest.mark.parametrize("word", ["none", "-", "n/a", "нет"])
def test_such_words_of_people_are_stored(http: Http, word: str) -> None:
    """A turn is stored word for word (specification.md#remember-verbatim)."""
    saved = http.remember("Anything else?", word)

    assert http.get(f"/api/v7/event/{saved['event_id']}").json()["response"] == word


@pytest.mark.parametrize("name", ["topic", "essence", "rules_markdown", "evidence"])
def test_created_cube_must_say_something(http: Http, name: str) -> None:
    """Each text must say something (specification.md#cube-required-texts)."""
    body = {"topic": "t", "essence": "e", "rules_markdown": "- MUST wait", "evidence": "docs"}
    answer = http.post("/api/v7/experience/create", {**body, name: "none"})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/{name}")


def test_model_of_a_created_cube_may_be_none(http: Http) -> None:
    """No model is named then (specification.md#cube-kind-names)."""
    body = {"topic": "t", "essence": "e", "rules_markdown": "- MUST wait", "evidence": "docs"}

    assert http.post("/api/v7/experience/create", {**body, "model": "None"}).status_code == 200
    [cube] = http.context.store.read(lambda tx: tx.all("select model from cubes"))
    assert cube.model is None


KINDS = [
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
BODIES = [("/api/v7/remember", {**TURN, **CUBE}), ("/api/v7/experience/create", CREATE)]


@pytest.mark.parametrize(("path", "body"), BODIES)
@pytest.mark.parametrize(("names", "kind"), KINDS)
def test_kind_has_two_names(
    http: Http, path: str, body: dict[str, str], names: dict[str, Any], kind: str
) -> None:
    """`kind` and `cube_type` mean the same (specification.md#cube-kind-names)."""
    assert http.post(path, {**body, **names}).status_code == 200
    [cube] = http.context.store.read(lambda tx: tx.all("select kind from cubes"))

    assert cube.kind == kind


@pytest.mark.parametrize(("path", "body"), BODIES)
@pytest.mark.parametrize(
    "names", [{"kind": "code", "cube_type": "fact"}, {"kind": "tip"}, {"cube_type": "tip"}]
)
def test_contradictory_or_unknown_kind_is_422(
    http: Http, path: str, body: dict[str, str], names: dict[str, Any]
) -> None:
    """Both names with different values are a 422 (specification.md#cube-kind-names)."""
    answer = http.post(path, {**body, **names})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] in {"/kind", "/cube_type"}
    assert http.rows()["cubes"] == 0


@pytest.mark.parametrize("language", ["python", "Python", " python3 ", "py", "PY", None])
def test_language_python_has_aliases(http: Http, language: str | None) -> None:
    """`py` and `python3` are Python (specification.md#sandbox-language)."""
    answer = http.post("/api/execute/code", {"code": "6 * 7", "language": language})

    assert (answer.status_code, answer.json()["result"]) == (200, "42")


@pytest.mark.parametrize("language", ["javascript", "python2", "", "pyth on", 3, ["python"]])
def test_other_language_is_422(http: Http, language: Any) -> None:
    """Only Python runs (specification.md#sandbox-language)."""
    answer = http.post("/api/execute/code", {"code": "6 * 7", "language": language})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/language")
