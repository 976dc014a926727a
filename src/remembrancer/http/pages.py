"""HTML pages: the home page and the documentation. They load nothing from other hosts."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from ..protocol.errors import NotFound
from ..protocol.operations import Operations
from . import problems
from .openapi import schema_of

# --- Template filters for times, numbers and sizes -------------------------------------------

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def format_time(moment: int | str | datetime | None, absent: str = "never") -> Markup:
    """Return a `<time>` element in UTC, or `absent` for None.

    `moment` is in ms since 1970, an RFC 3339 text, or a datetime.
    """
    if moment is None:
        return Markup('<span class="quiet">{}</span>').format(absent)
    if isinstance(moment, int):
        at = datetime.fromtimestamp(moment / 1000, UTC)
    else:
        at = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone(UTC)
    return Markup(
        '<time datetime="{:%Y-%m-%dT%H:%M:%SZ}" title="{:%Y-%m-%d %H:%M:%S} UTC">'
        "{:%Y-%m-%d %H:%M}</time>"
    ).format(at, at, at)


_AGES = (  # in minutes
    ("year", 525_960),
    ("month", 43_833.6),
    ("week", 10_080),
    ("day", 1_440),
    ("hour", 60),
    ("minute", 1),
)


def ago(moment: int, now_ms: int) -> str:
    """Return how long ago a time was, for example `2 days ago`. Both are in ms since 1970."""
    minutes = (now_ms - moment) / 60_000
    if minutes < 1:
        return "in the future" if minutes < -1 else "just now"
    name, size = next(one for one in _AGES if minutes >= one[1])
    number = int(minutes / size)
    return f"{number} {name}{'' if number == 1 else 's'} ago"


def count(number: float) -> str:
    """Format a number with thousands separators."""
    return f"{number:,}"


def size(number: int) -> str:
    """Format a size in bytes, for example `512 bytes` or `1.5 KiB`."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    if unit == 0:
        return f"{number:,} {'byte' if number == 1 else _UNITS[0]}"
    return f"{value:.1f} {_UNITS[unit]}"


# --- Style sheets and scripts of the pages, cached forever under a digest of their content ---

PATH = "/console/assets/{digest}/{name}"
_MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def asset_files() -> dict[str, bytes]:
    """Return every asset by name."""
    style = resources.files("remembrancer.http").joinpath("templates", "style.css")
    files = [style, *resources.files("remembrancer.console").joinpath("templates").iterdir()]
    return {
        file.name: file.read_bytes()
        for file in sorted(files, key=str)
        if file.name.rpartition(".")[2] in _MEDIA_TYPES
    }


@cache
def digest() -> str:
    """Return one digest for all assets, so that a script can import another by a relative path."""
    sums = [
        hashlib.sha256(name.encode() + b"\0" + content).digest()
        for name, content in asset_files().items()
    ]
    return hashlib.sha256(b"".join(sums)).hexdigest()[:16]


def asset(name: str) -> str:
    """Return the address of an asset. Raises KeyError for an unknown name."""
    asset_files()[name]
    return PATH.format(digest=digest(), name=name)


async def send(request: Request) -> Response:
    """Send an asset, or 404 for an outdated digest."""
    request.scope["endpoint_path"] = PATH
    name = request.path_params["name"]
    if request.path_params["digest"] != digest() or name not in asset_files():
        return problems.respond(NotFound(), request.scope)
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(asset_files()[name], headers=_HEADERS, media_type=media_type)


# --- HTML pages: the home page and the API documentation. They load nothing from other hosts -

THEMES = ("light", "dark")  # default: the system's
CSP = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
STYLE_PATH = "/docs/style.css"

_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?")
_CODE = re.compile(r"`([^`]+)`")
_templates = Environment(
    loader=ChoiceLoader(
        [
            PackageLoader("remembrancer.http", "templates"),
            PrefixLoader({"console": PackageLoader("remembrancer.console", "templates")}),
        ]
    ),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
)


def _prose(text: str) -> Markup:
    """Return escaped text with backquoted parts as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped here


_templates.filters |= {
    "prose": _prose,
    "when": format_time,
    "ago": ago,
    "count": count,
    "size": size,
}
_templates.globals["asset"] = asset


def render(template: str, **values: Any) -> str:
    """Render a template."""
    defaults = {"style": STYLE_PATH, "theme": ""}
    return _templates.get_template(template).render(defaults | values)


def page(template: str, request: Request, **values: Any) -> Response:
    """Answer with a rendered template. With `has_form` it may send a form to this service.

    `status` is that of the response. Default: 200.
    """
    theme = request.cookies.get("theme")
    defaults = {"base": base_url(request), "theme": theme if theme in THEMES else ""}
    html = render(template, **(defaults | values))
    policy = CSP
    if values.get("has_form"):
        policy = CSP.replace("form-action 'none'", "form-action 'self'")
    return Response(
        html,
        status_code=values.get("status", 200),
        headers={"Content-Security-Policy": policy, "Vary": "Accept"},
        media_type="text/html",
    )


def base_url(request: Request) -> str:
    """Return the address from the Host header, or localhost if it is not a valid host.

    Pages print it into shell commands.
    """
    host = request.headers.get("host", "")
    return f"{request.url.scheme}://{host if _HOST.fullmatch(host) else 'localhost'}"


def origin_of(headers: Headers) -> SplitResult:
    """Return the Origin header, split; an invalid one is empty, as if it named no host."""
    try:
        return urlsplit(headers.get("origin", ""))
    except ValueError:  # such as an IPv6 address without its closing bracket
        return urlsplit("")


def wants_json(request: Request) -> bool:
    """Return True if the client accepts JSON and not HTML."""
    accept = request.headers.get("accept", "")
    return "application/json" in accept and "text/html" not in accept


def operations(document: dict[str, Any], base: str) -> list[dict[str, Any]]:
    """Return the operations of the OpenAPI document for the template, references resolved."""
    entries = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            success = operation["responses"]["200"]["content"]
            answer = success.get("application/json", {}).get("schema", {})
            examples = [example["value"] for example in body.get("examples", {}).values()]
            entries.append(
                {
                    "id": operation["operationId"],
                    "method": method.upper(),
                    "path": path,
                    "summary": operation["summary"],
                    "description": operation["description"],
                    "needs_key": bool(operation["security"]),
                    "body": _fields(document, body.get("schema", {})),
                    "parameters": [
                        {**row, "kind": _kind(document, schema_of(row))}
                        for row in operation.get("parameters", [])
                    ],
                    "answer": _fields(document, answer),
                    "nested": _nested_fields(document, answer),
                    "media": list(success),
                    "problems": [
                        f"{status} {_error_code(_resolved(document, response))}"
                        for status, response in operation["responses"].items()
                        if status >= "400"
                    ],
                    "curl": _curl(f"{base}{path}", method, operation, examples),
                    "python": _python_call(operation["operationId"]),
                }
            )
    return entries


def _error_code(response: dict[str, Any]) -> str:
    """Return the code of an error response, in our format or in OpenAI's."""
    [content] = response["content"].values()
    error = content["example"]["error"]
    return str(error["code"] if isinstance(error, dict) else error)


def _python_call(operation_id: str) -> str:
    """Return the call of the Python client; empty if it has no method for the operation."""
    operation = vars(Operations).get(operation_id)
    if operation is None:
        return ""
    arguments = ["item_id"] if operation.has_item else []
    if message := operation.body or operation.query:
        arguments.append(f"{message.__name__}(…)")
    return f"client.{operation_id}({', '.join(arguments)})"


def _curl(url: str, method: str, operation: dict[str, Any], examples: list[Any]) -> str:
    url = re.sub(r"\{(\w+)\}", lambda name: f"${name[1].upper()}", url)
    query = {
        row["name"]: row["example"]
        for row in operation.get("parameters", [])
        if row["in"] == "query" and "example" in row
    }
    option = "" if method in ("get", "post") else f" -X {method.upper()}"
    parts = [f'curl -sS{option} "{url}{"?" if query else ""}{urlencode(query)}"']
    if operation["security"]:
        parts.append('-H "Authorization: Bearer $REMEMBRANCER_KEY"')
    if examples:
        parts += [
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(json.dumps(examples[0], ensure_ascii=False, indent=2))}",
        ]
    return " \\\n  ".join(parts)


def _resolved(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        target: Any = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def _fields(document: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    schema = _resolved(document, schema)
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "kind": _kind(document, part),
            "required": name in required,
            "about": part.get("description", ""),
        }
        for name, part in schema.get("properties", {}).items()
    ]


def _nested_fields(
    document: dict[str, Any], schema: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """Return the fields of every nested object, by the type name that `_kind` returns."""
    nested: dict[str, list[dict[str, Any]]] = {}
    todo = list(_resolved(document, schema).get("properties", {}).values())
    while todo:
        part = todo.pop(0)
        todo += [*part.get("anyOf", []), *([part["items"]] if "items" in part else [])]
        inner = _resolved(document, part)
        if inner is not part and inner["title"] not in nested:
            nested[inner["title"]] = _fields(document, inner)
            todo += inner.get("properties", {}).values()
    return nested


def _kind(document: dict[str, Any], part: dict[str, Any]) -> str:
    """Describe a type, for example `array of Hit` or `integer from 1 to 100, default 5`."""
    if "anyOf" in part:
        description = " or ".join(
            _kind(document, p) for p in part["anyOf"] if p.get("type") != "null"
        )
        return description + (" or null" if "default" not in part else _default(part))
    if "$ref" in part:
        return str(_resolved(document, part).get("title", "object"))
    kind = str(part.get("type", "any"))
    description = {"string": "text", "boolean": "true or false"}.get(kind, kind)
    if part.get("format") == "date-time":
        description = "time (RFC 3339)"
    if "enum" in part:
        description = " or ".join(json.dumps(one) for one in part["enum"])
    if "items" in part:
        description = f"array of {_kind(document, part['items'])}"
    if "maximum" in part and "minimum" in part:
        description += f" from {part['minimum']:,} to {part['maximum']:,}"
    if "maxLength" in part:
        description += f", at most {part['maxLength']:,} characters"
    return description + _default(part)


def _default(part: dict[str, Any]) -> str:
    default = part.get("default")
    return "" if default in (None, []) else f", default {json.dumps(default)}"
