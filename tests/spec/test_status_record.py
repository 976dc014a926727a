"""The status record, readiness and liveness."""

from __future__ import annotations

from service import Http

from remembrancer import __version__

FIELDS = {
    "do_this": list,
    "service": str,
    "version": str,
    "status": str,
    "cubes_count": int,
    "connections": int,
    "graph_loaded": bool,
    "cache_enabled": bool,
}


def test_status_record_has_all_fields_with_their_types(http: Http) -> None:
    """The record has all documented fields (specification.md#status-record)."""
    record = http.with_key(None).get("/api/v7/status").json()

    assert {name: type(record[name]) for name in FIELDS} == FIELDS
    assert record["status"] == "ok"


def test_do_this_states_the_recommended_flow(http: Http) -> None:
    """`do_this` states the recommended flow (specification.md#status-flow)."""
    steps = http.get("/api/v7/status").json()["do_this"]

    assert len(steps) == 4
    for step, text in zip(
        steps,
        (
            "POST /api/v7/memory` at step 0",
            "constitution",
            "POST /api/v7/remember",
            "GET /api/v7/agent/memory",
        ),
        strict=True,
    ):
        assert text.replace("`", "") in step


def test_connections_counts_requests_in_flight(http: Http) -> None:
    """`connections` counts requests in flight (specification.md#status-connections)."""
    assert [http.get("/api/v7/status").json()["connections"] for _ in range(3)] == [1, 1, 1]


def test_status_record_has_all_three_versions(http: Http) -> None:
    """The record names record, interface and server version (specification.md#version-record)."""
    record = http.get("/api/v7/status").json()

    assert (record["version"], record["interface_version"], record["server_version"]) == (
        "6.0",
        "8.3",
        __version__,
    )


def test_status_record_has_no_private_data(http: Http) -> None:
    """It needs no key and holds nothing private (specification.md#status-record)."""
    http.remember("a secret", "of ada's", user_id="ada-secret")

    text = http.get("/api/v7/status").text

    assert "secret" not in text
    assert "/" not in http.get("/readyz").json()["store"]


def test_root_path_serves_the_record_to_machines(http: Http) -> None:
    """`/` serves the record to machines (specification.md#status-home)."""
    assert (
        http.get("/", headers={"Accept": "application/json"}).json()
        == http.get("/api/v7/status").json()
    )


def test_readiness_reports_store_and_embedder(http: Http) -> None:
    """Readiness names store and embedder (specification.md#status-readyz)."""
    answer = http.with_key(None).get("/readyz").json()

    assert (answer["ready"], answer["store"], answer["embedder"]) == (True, "ok", "ok")
    assert answer["embedding"] == http.get("/api/v7/status").json()["embedding"]


def test_liveness_reports_alive_without_a_key(http: Http) -> None:
    """Liveness touches nothing else (specification.md#status-healthz)."""
    assert http.with_key(None).get("/healthz").json() == {"alive": True}


def test_status_record_has_the_sandbox_confinement(http: Http) -> None:
    """The record states the sandbox's confinement (specification.md#status-record)."""
    before = http.get("/api/v7/status").json()["sandbox"]
    http.post("/api/execute/code", {"code": "1"})

    assert (before, http.get("/api/v7/status").json()["sandbox"]) == ("not started", "ns")
