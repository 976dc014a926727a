"""Versions of paths, interface and status record."""

from __future__ import annotations

from service import Http

from remembrancer.protocol.operations import OPERATIONS

DOORS = {
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/download/{filename}",
    "/openapi.json",
    "/docs",
    "/docs/{page}",
    "/docs/style.css",
    "/llms.txt",
}
OPENAI = {
    "/v1/chat/completions",
    "/v1/embeddings",
    "/v1/models",
    "/v1/models/{model}",
    "/v1/responses",
}
UNVERSIONED = {"/api/execute/code"}


def test_paths_carry_the_version_prefix() -> None:
    """Paths carry `/api/v7/`, with few exceptions (specification.md#version-prefix)."""
    assert {
        e.path for e in OPERATIONS if not e.path.startswith("/api/v7/")
    } == DOORS | UNVERSIONED | OPENAI


def test_interface_version_is_8_3(http: Http) -> None:
    """The interface description is version 8.3 (specification.md#version-interface)."""
    assert http.get("/openapi.json").json()["info"]["version"] == "8.3"
    assert "Interface 8.3" in http.get("/docs/api").text


def test_status_record_version_is_6_0(http: Http) -> None:
    """The status record is version 6.0 (specification.md#version-record)."""
    assert http.get("/api/v7/status").json()["version"] == "6.0"


def test_path_of_another_version_is_404(http: Http) -> None:
    """Another version is a 404 (specification.md#version-unknown-prefix)."""
    for path in ("/api/v6/memory", "/api/v8/memory", "/api/memory", "/v7/memory", "/API/V7/memory"):
        assert http.post(path, {"query_text": "a", "user_id": "u"}).status_code == 404
