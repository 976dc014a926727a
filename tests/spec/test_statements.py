"""Every statement of the interface specification, with the test that holds it: statements.toml.

The cases of this file are written from the interface specification alone and use HTTP alone. A
statement that a test of another file holds names that test.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from service import Http

TESTS = Path(__file__).parents[1]
STATEMENTS: dict[str, list[str]] = {
    number: row
    for section in tomllib.loads(Path(__file__).with_name("statements.toml").read_text()).values()
    for number, row in section.items()
}
CODE = "/api/execute/code"
V7 = "/api/v7/"
LESSON = {
    "topic": "ferries",
    "essence": "A ferry ticket for a car is sold out in summer.",
    "rules_markdown": "- MUST book the ticket early",
    "evidence": "harbour office",
}
CUBE = {
    "cube_topic": "ferries",
    "cube_essence": "A ferry ticket for a car is sold out in summer.",
    "cube_rules": "- MUST book the ticket early",
    "cube_type": "warning",
    "cube_evidence": "harbour office",
}
GRANT = {"scope": "/etc/nginx/", "ttl_minutes": 30, "actions": ["read"], "agent": "bot"}
# Bodies with the required fields alone.
BODIES: dict[str, dict[str, Any]] = {
    "memory": {"query_text": "ferry", "user_id": "ada"},
    "event/write": {"user_id": "ada", "query": "Ferry?", "response": "At 9:40."},
    "experience/create": LESSON,
    "experience/vote": {"cube_id": "{cube}", "user_id": "ben", "vote": 1},
    "memory/summarize": {"user_id": "ada", "session_id": "s", "summary_text": "The ferry."},
    "memory/map": {"user_id": "ada"},
    "feedback": {"type": "bug", "title": "Ferry", "description": "It is late."},
    "agent/chat": {"user_id": "ada", "message": "When does the ferry leave?"},
    "tools/create-file": {"filename": "notes", "content": "a", "type": "txt"},
    "sysperm/check": {"path": "/etc/nginx/a.conf", "action": "read", "agent": "bot"},
    "sysperm/grant": GRANT,
    "sysperm/revoke": {"grant_id": "{grant}"},
    "agent/second-look": {"draft": "At 9:40."},
    "execute/code": {"code": "print(1)"},
}
REMEMBER = {"query": "Ferry?", "response": "At 9:40."}
OPTIONAL: dict[str, dict[str, list[Any]]] = {
    "memory": {
        "focus_words": [["ferry"], []],
        "top_k": [1, 5, 100],
        "session_id": ["s"],
        "interact": [True, False],
        "last_seal": ["REM | #1 | READ | VERIFY | CORRECT | OUTPUT"],
    },
    "event/write": {"session_id": ["s"], "topic": ["travel"]},
    "experience/create": {"session_id": ["s"]},
    "experience/vote": {"reason": ["It helped."]},
    "memory/summarize": {"topic": ["travel"], "message_count": [15]},
    "memory/map": {"session_count": [3]},
    "feedback": {"severity": [1, 2, 3, 4]},
    "agent/chat": {
        "session_id": ["s"],
        "step": [0, 7],
        "last_seal": ["REM | #1 | READ | VERIFY | CORRECT | OUTPUT"],
        "chat_history": [[], [{"role": "user", "content": "Hello"}]],
    },
    "agent/second-look": {"event_id": [""], "span": [0, 3]},
    "execute/code": {"mode": ["fix", "optimize", "all"], "language": ["python"]},
    "remember": {
        "session_id": ["s"],
        "l1_summary": ["The ferry leaves."],
        "task_done": [True, False],
        "critical": ["The ferry leaves at 9:40."],
        "l2_map": ["Ferries"],
        "cube_publish": [False],
    },
}
REFUSED: list[tuple[str, str, list[Any]]] = [
    ("memory", "top_k", [0, -1, 101, "5", 5.5, True]),
    ("memory", "focus_words", ["ferry", [1]]),
    ("memory", "interact", ["true", 1]),
    ("experience/vote", "vote", [0, 2, -2, "1", 1.5, True]),
    ("feedback", "type", ["praise", "Bug ", ""]),
    ("feedback", "severity", [0, 5, 2.5, "2"]),
    ("tools/create-file", "type", ["exe", "docx", ""]),
    ("sysperm/check", "action", ["list", ""]),
    ("sysperm/grant", "ttl_minutes", [0, 241, -1, 1.5, "10"]),
    ("sysperm/grant", "actions", [["list"], [], "read"]),
    ("execute/code", "mode", ["repair", ""]),
    ("execute/code", "language", ["javascript", "ruby"]),
    ("agent/second-look", "span", [-1, "1"]),
    ("remember", "duty", ["nothing", "cube"]),
    ("remember", "task_done", ["yes", 1]),
    ("remember", "cube_type", ["joke"]),
]


def path_of(name: str) -> str:
    """Return the path of an endpoint; that of the sandbox has no version."""
    return CODE if name == "execute/code" else V7 + name


@pytest.fixture
def world(http: Http) -> dict[str, str]:
    """Store a turn, a cube of another account and a grant; return their ids."""
    turn = http.post(
        V7 + "event/write", {**BODIES["event/write"], "session_id": "s", "topic": "travel"}
    ).json()
    other = http.as_account("harbour")
    cube = other.remember("Ferry?", "Book early.", **CUBE, cube_publish=True)["cube"]
    grant = http.post(V7 + "sysperm/grant", GRANT).json()
    return {"event": turn["event_id"], "cube": cube["cube_id"], "grant": grant["grant_id"]}


def filled(body: dict[str, Any], world: dict[str, str]) -> dict[str, Any]:
    """Return a body with the ids of the world."""
    return {k: v.format(**world) if isinstance(v, str) else v for k, v in body.items()}


def search(http: Http, text: str = "ferry", **more: Any) -> Any:
    """Search with the fields of the specification."""
    return http.memory(text, "ada", **more)


def seal(step: int) -> str:
    """Return the seal of a step, with the service's short name."""
    return f"REM | #{step} | READ | VERIFY | CORRECT | OUTPUT"


# --- The table


def names_of_tests(path: Path) -> set[str]:
    """Return the names of the tests of a file, those of a class after its name."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{one.name}" for one in node.body if hasattr(one, "name")}
    return names


def test_every_statement_has_its_test() -> None:
    assert list(STATEMENTS) == [str(number) for number in range(1, 169)]
    missing = []
    for number, (_, held_by) in STATEMENTS.items():
        if held_by == "not shown":
            continue
        if held_by.endswith(".py"):
            missing += [] if (TESTS / held_by).exists() else [number]
            continue
        file, _, name = held_by.partition("::")
        path, test = (TESTS / file, name) if name else (Path(__file__), file)
        missing += [] if path.exists() and test in names_of_tests(path) else [number]

    assert missing == []
    assert [n for n, row in STATEMENTS.items() if row[1] == "not shown"] == ["30", "167", "168"]


# --- Fields


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, body in BODIES.items() for field in body]
)
def test_required_fields_are_required(
    http: Http, world: dict[str, str], name: str, field: str
) -> None:
    body = filled(BODIES[name], world)
    for missing in ({k: v for k, v in body.items() if k != field}, {**body, field: None}):
        answer = http.post(path_of(name), missing)

        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["pointer"] == f"/{field}"


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, fields in OPTIONAL.items() for field in fields]
)
def test_optional_fields_are_optional(
    http: Http, world: dict[str, str], name: str, field: str
) -> None:
    body = filled(BODIES.get(name, REMEMBER), world)
    for value in (None, *OPTIONAL[name][field]):
        answer = http.post(path_of(name), {**body, field: value})

        assert answer.status_code == 200, (value, answer.text)


@pytest.mark.parametrize(("name", "field", "values"), REFUSED)
def test_values_out_of_bounds_are_refused(
    http: Http, world: dict[str, str], name: str, field: str, values: list[Any]
) -> None:
    body = filled(BODIES.get(name, REMEMBER), world)
    for value in values:
        answer = http.post(path_of(name), {**body, field: value})

        assert answer.status_code == 422, (value, answer.text)
        assert answer.json()["errors"][0]["pointer"].startswith(f"/{field}")


# --- Base


def test_every_answer_is_json(http: Http, world: dict[str, str]) -> None:
    answers = [http.post(path_of(name), filled(body, world)) for name, body in BODIES.items()]
    answers += [http.post(V7 + "memory", {}), http.with_key(None).get(V7 + "agent/memory")]

    for answer in answers:
        assert isinstance(answer.json(), dict)
        assert re.fullmatch(r"application/(problem\+)?json", answer.headers["content-type"])


def test_paths_have_no_trailing_slash(http: Http) -> None:
    assert http.get("/api/v7/status").status_code == 200
    assert http.get("/api/v7/status/").status_code == 404


def test_paths_have_their_versions(http: Http) -> None:
    document = http.get("/openapi.json").json()

    assert document["info"]["version"] == "8.3"
    assert {V7 + name for name in BODIES if name != "execute/code"} <= set(document["paths"])
    assert CODE in document["paths"]


def test_the_status_record_has_its_types(http: Http) -> None:
    record = http.with_key(None).get("/api/v7/status").json()
    types = {"service": str, "version": str, "status": str, "cubes_count": int}
    types |= {"connections": int, "graph_loaded": bool, "cache_enabled": bool}

    assert [name for name, kind in types.items() if type(record[name]) is not kind] == []
    assert [type(step) for step in record["do_this"]] == [str] * 4
    assert record["version"] == "6.0"


def test_a_key_has_its_form(http: Http) -> None:
    assert re.fullmatch(r"sk_[0-9a-f]+", http.key or "")


# --- Events and searches


def test_a_search_names_both_indexes(http: Http, world: dict[str, str]) -> None:
    [hit] = search(http, "When does the ferry go?")["hits"]

    assert {"dense", "text"} <= {one["signal"] for one in hit["why"]}


def test_a_turn_of_the_flow_owes_nothing(http: Http) -> None:
    first = search(http, "When does the ferry leave?", session_id="s")
    saved = http.remember("When does the ferry leave?", "I do not know.", session_id="s")
    second = search(http, "And back?", session_id="s", last_seal=seal(first["step"]))

    assert (type(first["step"]), saved["saved"]) == (int, True)
    for answer in (first, second):
        assert not {"duty_error", "reminders", "help_hits", "open_tasks", "error"} & set(answer)


def test_missed_steps_are_reported(http: Http, world: dict[str, str]) -> None:
    first = search(http, "ferry ticket for a car", session_id="s")
    missing_turn = search(http, "ferry", session_id="s", last_seal=seal(first["step"]))
    http.remember("ferry", "r", session_id="s")
    missing_seal = search(http, "ferry", session_id="s")
    http.remember("ferry again", "r2", session_id="s")
    wrong_seal = search(http, "ferry", session_id="s", last_seal=seal(99))

    assert [cube["note"].startswith("new") for cube in first["shared_cubes"]] == [True]
    assert "remember" in missing_turn["duty_error"]
    assert any("seal" in one.lower() for one in missing_seal["reminders"])
    assert any(world["cube"] in one for one in missing_seal["reminders"])
    assert "seal" in wrong_seal["duty_error"].lower()
