"""Parts of uvicorn that our HTTP connection relies on: a new version cannot change them unnoticed.

The subclass stays because it does more than to count bytes: it lets a client read its response
before the end, cuts off slow readers, refuses what proxies misread and ignores upgrades.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import textwrap
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from remembrancer.server.connection import HttpConnection

# Parts of uvicorn's connection that ours uses and does not define.
PARTS = {
    *("_unset_keepalive_if_required", "cycle", "flow", "headers", "loop", "parser", "pipeline"),
    *("transport", "url"),
}
# The statements of uvicorn's own `data_received`, which ours replaces: it parses, and nothing else.
RECEIVED = """
self._unset_keepalive_if_required()
try:
    self.parser.feed_data(data)
except httptools.HttpParserError:
    msg = 'Invalid HTTP request received.'
    self.logger.warning(msg)
    self.send_400_response(msg)
    return
except httptools.HttpParserUpgrade:
    if self._should_upgrade():
        self.handle_websocket_upgrade()
    else:
        self._unsupported_upgrade_warning()
""".strip()


def function_of(method: Any) -> ast.FunctionDef:
    """Return a method as a tree."""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    assert isinstance(function, ast.FunctionDef)
    return function


def own_attributes(kind: type) -> set[str]:
    """Return the attributes of `self` that the methods of a class use."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def test_connection_uses_these_parts_and_uvicorn_has_them() -> None:
    async def connection() -> HttpToolsProtocol:
        return HttpToolsProtocol(Config(app=lambda: None), ServerState(), {})

    parts = own_attributes(HttpConnection) - vars(HttpConnection).keys()

    assert parts == PARTS
    # `url` is set when a request begins.
    assert PARTS - vars(asyncio.run(connection())).keys() - vars(HttpToolsProtocol).keys() == {
        "url"
    }
    assert "self.url = " in inspect.getsource(HttpToolsProtocol.on_message_begin)
    assert {"more_body", "response_complete", "transport"} <= own_attributes(RequestResponseCycle)


def test_methods_that_are_overridden_have_the_same_parameters() -> None:
    ours = {
        name: method
        for name, method in vars(HttpConnection).items()
        if inspect.isfunction(method) and hasattr(HttpToolsProtocol, name)
    }

    assert {"data_received", "send_400_response", "on_response_complete"} <= ours.keys()
    for name, method in ours.items():
        theirs = inspect.signature(getattr(HttpToolsProtocol, name))
        assert [*inspect.signature(method).parameters] == [*theirs.parameters], name


def test_replaced_method_of_uvicorn_is_the_one_that_was_read() -> None:
    body = function_of(HttpToolsProtocol.data_received).body

    assert "\n".join(map(ast.unparse, body)) == RECEIVED
