"""The OpenAPI document matches the routes, its examples work, and the docs pages work offline."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from http_server.examples import EXAMPLES, make_mentioned, path_of
from pydantic import BaseModel
from service import Http, new_key, serving
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.console.routes import PAGES as OF_THE_CONSOLE
from remembrancer.console.routes import UNKNOWN
from remembrancer.context import Context
from remembrancer.http import openapi, pages
from remembrancer.mcp.http_transport import PATH as MCP
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.server.app import make_app

PAGES = ["/", "/docs", "/docs/api", "/docs/guides/search"]
CONSOLE = {*OF_THE_CONSOLE, pages.PATH, UNKNOWN}


@pytest.fixture(scope="module")
def methods() -> set[str]:
    """Return the methods that a path item may have."""
    return {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


def test_openapi_lists_exactly_the_served_routes(app: Starlette, methods: set[str]) -> None:
    """OpenAPI describes exactly what is served (specification.md#status-openapi)."""
    documented = {
        (method.upper(), path)
        for path, item in openapi.document(app.state.operations)["paths"].items()
        for method in item.keys() & methods
    }
    routes = [r for r in app.routes if isinstance(r, Route)]
    served = {
        (m, r.name) for r in routes for m in r.methods or () if r.path not in {*CONSOLE, MCP}
    }  # without console pages and MCP; the pattern of an id with slashes is not its path

    assert documented == {(m, p) for m, p in served if m != "HEAD"}
    assert {r.path if r.path in {*CONSOLE, MCP} else r.name for r in routes} == {
        path for _, path in served
    } | {*CONSOLE, MCP}
    assert len(app.routes) == len({r.path for r in routes})


def test_openapi_version_is_3_1_and_interface_version_8_3(http: Http) -> None:
    """The interface description is version 8.3 (specification.md#version-interface)."""
    document = http.with_key(None).get("/openapi.json").json()

    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == "8.3"


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


def test_operations_have_unique_ids_and_descriptions(app: Starlette) -> None:
    every = operations(openapi.document(app.state.operations))

    assert len({operation["operationId"] for _, _, operation in every}) == len(every)
    assert all(
        operation["summary"] and operation["description"].endswith(".") for _, _, operation in every
    )


def test_all_refs_in_the_openapi_document_resolve(app: Starlette) -> None:
    document = openapi.document(app.state.operations)

    def follow(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                target: Any = document
                for part in node["$ref"].removeprefix("#/").split("/"):
                    target = target[part]
            for value in node.values():
                follow(value)
        if isinstance(node, list):
            for value in node:
                follow(value)

    follow(document)
    assert document["components"]["schemas"].keys() >= {
        "MemoryQuery",
        "MemoryAnswer",
        "ProblemBody",
    }


def test_keys_are_required_exactly_where_documented(http: Http, app: Starlette) -> None:
    for method, path, operation in operations(openapi.document(app.state.operations)):
        is_public = not operation["security"] or {} in operation["security"]
        status = (
            http.with_key(None).ask(method.upper(), path.replace("{event_id}", "ev_1")).status_code
        )

        assert (status != 401) == is_public or path in ("/metrics", "/download/{filename}"), path


@pytest.fixture
def context(folder: Path) -> Iterator[Context]:
    """A real context with a scripted language model, for the examples that need one."""
    service = testing.context(folder, models=testing.ScriptedModels(chat=["At 9:40."] * 8))
    yield service
    service.close()


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES, ids=[e.path for e, _ in EXAMPLES])
def test_every_example_request_works(http: Http, endpoint: Any, example: Any) -> None:
    """The examples are valid requests (specification.md#status-openapi)."""
    make_mentioned(http.context)
    answer = http.ask(endpoint.method, path_of(endpoint), json=example)

    assert answer.status_code == 200, answer.text
    model: type[BaseModel] = endpoint.answer
    model.model_validate_json(answer.content)


def test_every_request_model_has_an_example() -> None:
    assert {endpoint.path for endpoint, _ in EXAMPLES} == {e.path for e in OPERATIONS if e.body}


@pytest.mark.parametrize(
    "path", [e.path for e in OPERATIONS if e.method == "GET" and e.answer and "{" not in e.path]
)
def test_get_responses_match_their_models(http: Http, path: str) -> None:
    endpoint = next(e for e in OPERATIONS if e.path == path and e.method == "GET")
    http.remember("When?", "At nine.", l1_summary="It was at nine.", l2_map="Nine.", user_id="ada")
    answer = http.get(path, params={"user_id": "ada"}, headers={"Accept": "application/json"})

    assert endpoint.answer is not None
    endpoint.answer.model_validate_json(answer.content)


def test_absent_members_are_omitted_and_required_ones_present(http: Http) -> None:
    saved = http.remember("When does the ferry leave?", "At 9:40.")
    answer = http.memory("ferry")

    assert "focus_missing" not in answer
    assert answer["shared_cubes"] == []
    assert answer["hits"][0]["topic"] is None
    assert http.get(f"/api/v7/event/{saved['event_id']}").json()["topic"] is None


def test_every_schema_member_has_a_description(app: Starlette) -> None:
    schemas = openapi.document(app.state.operations)["components"]["schemas"]

    undocumented = [
        f"{name}.{member}"
        for name, schema in schemas.items()
        for member, part in schema["properties"].items()
        if not part.get("description")
    ]

    assert undocumented == []


class Links(HTMLParser):
    """Collect the resources that a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.forbidden: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the ids, links and forbidden parts of one element."""
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values["id"]} if "id" in values else set()
        if tag in {"script", "style", "iframe", "object", "embed", "base", "form"} or any(
            n == "style" or n.startswith("on") for n in values
        ):
            self.forbidden.append(tag)
        if tag == "a":
            self.links.append(values["href"])
        elif "src" in values or "href" in values:
            self.loaded.append(values.get("src") or values["href"])


@pytest.mark.parametrize("path", PAGES)
def test_docs_pages_use_no_scripts_and_no_external_resources(http: Http, path: str) -> None:
    """`/docs` works offline (specification.md#status-docs-offline)."""
    answer = http.with_key(None).get(path)
    page = Links()
    page.feed(answer.text)

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert page.forbidden in ([], ["form"])  # the search of the documentation
    assert page.loaded[:2] == [pages.asset("icon.svg"), "/docs/style.css"]
    assert all(source.startswith("/docs/images/") for source in page.loaded[2:])
    assert all(http.get(link.split("#")[0] or path).status_code == 200 for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'")
    assert "unsafe" not in policy
    assert "script-src" not in policy


def test_style_sheet_loads_nothing_and_supports_dark_mode(http: Http) -> None:
    sheet = http.get("/docs/style.css")

    assert sheet.headers["content-type"] == "text/css; charset=utf-8"
    assert not re.search(r"url\(|@import|https?:", sheet.text)
    assert "color-scheme: light dark" in sheet.text


def test_docs_of_an_endpoint_list_its_fields(http: Http) -> None:
    text = http.get("/docs/api/search_memory").text

    assert "<td>integer from 1 to 100, default 5</td>" in text
    assert "<h3>Hit</h3>" in text
    assert "`" not in text


@pytest.mark.parametrize(
    "host", ["evil.example'; rm -rf ~; '", '"><script>', "a b.example", "$(reboot)", "`x`"]
)
def test_invalid_host_header_is_not_shown_in_examples(context: Context, host: str) -> None:
    settings = replace(context.settings, hosts="*")
    app = make_app(replace(context, settings=settings))
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        text = client.get("/docs/api/search_memory", headers={"Host": host}).text

    assert "http://localhost/api/v7/memory" in text
    assert host not in text


def test_curl_examples_of_the_docs_work(context: Context) -> None:
    key, ran = new_key(context), 0
    make_mentioned(context)
    with serving(make_app(context)) as port:
        for endpoint in OPERATIONS:
            page = subprocess.run(
                ["curl", "-sS", f"http://127.0.0.1:{port}/docs/api/{endpoint.operation_id}"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            [block] = re.findall(r"<pre><code>(curl.*?)</code></pre>", page, re.DOTALL)
            line = Unescaped.of(block)
            if any(
                name in line
                for name in ("$EVENT_ID", "$FILENAME", "$FACT_ID", "$MODEL", "$PAGE", "$TEAM_ID")
            ):
                continue  # needs an existing event or file
            process = subprocess.run(
                ["sh", "-c", line + " -w '%{http_code}' -o /dev/null"],
                capture_output=True,
                text=True,
                check=True,
                env={"REMEMBRANCER_KEY": key, "PATH": "/usr/bin:/bin"},
            )
            assert process.stdout == "200", line
            ran += 1

    assert ran == len([endpoint for endpoint in OPERATIONS if "{" not in endpoint.path])


def test_home_page_command_creates_a_working_key(http: Http, folder: Path) -> None:
    page = http.get("/", headers={"Accept": "text/html"}).text
    (line,) = [
        Unescaped.of(block)
        for block in re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    ]
    program, *words = shlex.split(line)

    process = subprocess.run(
        [sys.executable, "-m", program, *words],
        env={**os.environ, "REMEMBRANCER_DATA": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert process.returncode == 0, process.stderr
    assert (
        http.with_key(process.stdout.strip())
        .post("/api/v7/memory", {"query_text": "a", "user_id": "ada"})
        .status_code
        == 200
    )


class Unescaped(HTMLParser):
    """The text content of an HTML fragment."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        """Append a piece of text."""
        self.text += data

    @classmethod
    def of(cls, html: str) -> str:
        """Return the text in `html`."""
        parser = cls()
        parser.feed(html)
        return parser.text


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("*/*", "text/html"),
        ("text/html, application/json", "text/html"),
        ("application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
    ],
)
def test_home_serves_html_to_browsers_and_json_to_clients(
    http: Http, accept: str, kind: str
) -> None:
    """`/` serves a page or the record (specification.md#status-home)."""
    answer = http.with_key(None).get("/", headers={"Accept": accept})

    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["vary"] == "Accept"


def test_openapi_json_is_the_generated_document(http: Http) -> None:
    app: Any = http.client.app

    assert json.loads(http.get("/openapi.json").content) == openapi.document(app.state.operations)


def test_every_integer_parameter_has_a_maximum(app: Starlette) -> None:
    """Clients can tell from the schema that a number which no database holds is refused."""
    integers = {
        f"{method} {path} {parameter['name']}": schema
        for path, item in openapi.document(app.state.operations)["paths"].items()
        for method, operation in item.items()
        for parameter in operation.get("parameters", [])
        for schema in [parameter["schema"], *parameter["schema"].get("anyOf", [])]
        if schema.get("type") == "integer"
    }

    assert integers
    assert not [name for name, s in integers.items() if not {"maximum", "exclusiveMaximum"} & {*s}]
