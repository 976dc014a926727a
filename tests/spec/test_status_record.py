"""The status record, readiness, liveness, and the versions of paths and interface."""

from __future__ import annotations

from service import Http

from remembrancer import __version__


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


def test_record_and_interface_have_their_versions(http: Http) -> None:
    """See specification.md#version-record, specification.md#version-interface."""
    record = http.get("/api/v7/status").json()

    assert (record["version"], record["interface_version"]) == ("6.0", "8.3")
    assert record["server_version"] == __version__
    assert http.get("/openapi.json").json()["info"]["version"] == "8.3"
    assert "Interface 8.3" in http.get("/docs/api").text


def test_paths_of_other_versions_are_unknown(http: Http) -> None:
    """Another version is a 404.

    See specification.md#version-prefix, specification.md#version-unknown-prefix.
    """
    for path in ("/api/v6/memory", "/api/v8/memory", "/api/memory", "/v7/memory", "/API/V7/memory"):
        assert http.post(path, {"query_text": "a", "user_id": "u"}).status_code == 404


def test_status_record_has_no_private_data(http: Http) -> None:
    """It needs no key and holds nothing private (specification.md#status-record)."""
    http.remember("a secret", "of ada's", user_id="ada-secret")

    text = http.get("/api/v7/status").text

    assert "secret" not in text
    assert "/" not in http.get("/readyz").json()["store"]


def test_root_path_serves_the_record_to_machines(http: Http) -> None:
    """`/` serves the record to machines (specification.md#status-home)."""
    home = http.get("/", headers={"Accept": "application/json"}).json()

    assert home == http.get("/api/v7/status").json()


def test_readiness_and_liveness_need_no_key(http: Http) -> None:
    """See specification.md#status-readyz, specification.md#status-healthz."""
    answer = http.with_key(None).get("/readyz").json()

    assert (answer["ready"], answer["store"], answer["embedder"]) == (True, "ok", "ok")
    assert answer["embedding"] == http.get("/api/v7/status").json()["embedding"]
    assert http.with_key(None).get("/healthz").json() == {"alive": True}


def test_status_record_has_the_sandbox_confinement(http: Http) -> None:
    """The record states the sandbox's confinement (specification.md#status-record)."""
    before = http.get("/api/v7/status").json()["sandbox"]
    http.post("/api/execute/code", {"code": "1"})

    assert (before, http.get("/api/v7/status").json()["sandbox"]) == ("not started", "ns")
