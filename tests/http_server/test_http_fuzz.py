"""Requests generated from the OpenAPI document; every response must match it.

The phases of Schemathesis: the examples and boundaries of the schemas, random valid and invalid
requests, and sequences of requests that use each other's answers. All are sent with a key and
without one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import schemathesis
from http_server.requests_beyond_schema import fuzzed_document, is_beyond_schema
from hypothesis import HealthCheck, Phase, assume, given, settings
from rounds import rounds
from schemathesis import GenerationMode
from schemathesis.generation.hypothesis.examples import generate_one
from service import Http

from remembrancer.protocol.operation import AnyOperation
from remembrancer.protocol.operations import OPERATIONS

REQUESTS = rounds(3, 100)  # random requests per endpoint and mode; the same ones in each run
BOUNDARIES = rounds(8, 1_000)  # per endpoint, evenly chosen; the largest has 214
SEQUENCES, STEPS = rounds((8, 6), (150, 12))
HOST = {"Host": "localhost"}
# Random requests cannot name a member, an invitation or the name of a team to delete.
NEVER = {"change_member", "remove_member", "withdraw_invitation", "delete_team"}
WITHOUT_KEY = (401, 405)  # the other methods of a path have no key to check
QUIET = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
ENDPOINTS = pytest.mark.parametrize(
    "endpoint", OPERATIONS, ids=lambda one: f"{one.method} {one.path}"
)


@cache
def schema() -> Any:
    """Return the document, loaded once."""
    return schemathesis.openapi.from_dict(fuzzed_document())


def operation_of(endpoint: AnyOperation, http: Http) -> Any:
    """Return the operation of an endpoint; its requests go to the service under test."""
    schema().app = http.client.app
    operation = schema()[endpoint.path][endpoint.method]
    operation.app = http.client.app
    return operation


def ids_of(http: Http) -> dict[str, str]:
    """Store something for each parameter of a path; return the ids."""
    file = {"filename": "notes", "content": "a", "type": "txt"}
    fact = {"text": "Tea is green.", "user_id": "ada"}
    download = http.post("/api/v7/tools/create-file", file).json()
    team = http.post("/api/v7/teams", {"name": "Pier"})
    teams = http.get("/api/v7/teams").json()["teams"]
    stored = http.post("/api/v7/memory/facts", fact).json()["fact"]["fact_id"]
    return {
        "event_id": http.remember("q", "r", session_id="seed")["event_id"],
        "fact_id": stored,
        "instruction_id": stored,
        "team_id": (team.json() if team.status_code == 200 else teams[-1])["team_id"],
        "filename": download["filename"],
        "model": http.get("/v1/models").json()["data"][0]["id"],
        "page": "guides/search",
    }


def send(case: Any, endpoint: AnyOperation, http: Http) -> int:
    """Send a request with a key, then without one; check both responses. Return the first status.

    Never a 500, and nothing stored of what was rejected. See
    specification.md#error-never-500, specification.md#error-nothing-half-stored,
    specification.md#auth-bearer.
    """
    before = http.rows()
    answer = case.call_and_validate(headers={**HOST, "Authorization": f"Bearer {http.key}"})
    after = http.rows()
    assert answer.status_code < 400 or after == before

    if endpoint.needs_key:
        case.headers = {
            name: value
            for name, value in (case.headers or {}).items()
            if name.lower() != "authorization"
        }
        refused = case.call(headers=HOST)
        case.validate_response(refused, checks=[schemathesis.checks.not_a_server_error])
        assert refused.status_code in WITHOUT_KEY
        assert http.rows() == after
    return int(answer.status_code)


@pytest.mark.long
@ENDPOINTS
def test_examples_and_boundaries_get_documented_responses(
    shared: Http, endpoint: AnyOperation
) -> None:
    """The phases `examples` and `coverage`: each example, and values at and beyond each limit."""
    operation = operation_of(endpoint, shared)
    generation = schema().config.generation_for(operation=operation, phase="coverage")
    boundaries = list(
        schema().iter_coverage_cases(
            operation, generation_modes=list(GenerationMode), generation_config=generation
        )
    )
    examples = [generate_one(one) for one in operation.get_strategies_from_examples()]

    for case in (*examples, *boundaries[:: -(-len(boundaries) // BOUNDARIES) or 1]):
        is_positive = case.meta is None or case.meta.generation.mode is GenerationMode.POSITIVE
        if not is_beyond_schema(case, is_positive=is_positive):
            send(case, endpoint, shared)


@pytest.mark.long
@pytest.mark.parametrize("mode", list(GenerationMode))
@ENDPOINTS
def test_generated_requests_get_documented_responses(
    shared: Http, endpoint: AnyOperation, mode: GenerationMode
) -> None:
    """The phase `fuzzing`: random values, and random violations of the schema.

    Of valid requests half name something that is stored, and one of those succeeds.
    """
    operation = operation_of(endpoint, shared)
    is_positive = mode is GenerationMode.POSITIVE
    statuses: list[int] = []

    @settings(QUIET, max_examples=REQUESTS)
    @given(operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        if endpoint.has_item and is_positive and len(statuses) % 2 == 0:
            ids = ids_of(shared)
            case.path_parameters = {name: ids[name] for name in case.path_parameters}
        assume(not is_beyond_schema(case, is_positive=is_positive))
        statuses.append(send(case, endpoint, shared))

    if mode is GenerationMode.NEGATIVE and not operation.body and not operation.path_parameters:
        return  # there is no input to make invalid
    check()
    if endpoint.has_item and is_positive and endpoint.operation_id not in NEVER:
        assert any(status < 300 for status in statuses), statuses


@pytest.mark.long
def test_sequences_of_requests_get_documented_responses(http: Http) -> None:
    """The phase `stateful`: requests about what an earlier answer named."""
    linked = schema().exclude(path_regex="^/v1/models|^/healthz|^/docs|^/api/v7/key")
    linked.app = http.client.app
    reached = set()

    class Sequence(linked.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": {**HOST, "Authorization": f"Bearer {http.key}"}}

        def validate_response(
            self, response: Any, case: Any, additional_checks: Any = None, **more: Any
        ) -> None:
            is_positive = case.meta.generation.mode is GenerationMode.POSITIVE
            if is_positive and not is_beyond_schema(case, is_positive=True):
                super().validate_response(response, case, additional_checks, **more)
            else:  # a link may make an invalid request valid
                case.validate_response(response, checks=[schemathesis.checks.not_a_server_error])

        def step(self, input: Any) -> Any:
            before = http.rows()
            output = super().step(input)
            assert output.response.status_code < 400 or http.rows() == before
            if output.response.status_code == 200:
                reached.add(input.case.operation.path)
            return output

    Sequence.run(settings=settings(QUIET, max_examples=SEQUENCES, stateful_step_count=STEPS))

    assert len(reached) >= 3  # kinds of requests that succeeded
