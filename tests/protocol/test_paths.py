"""Normal form of paths and scopes: unique, and never wider than the input."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from

from remembrancer.protocol import limits
from remembrancer.protocol.permissions import normal_path, normal_scope

NAMES = sampled_from(
    [
        "",
        ".",
        "..",
        "...",
        "etc",
        "Etc",
        "nginx.conf",
        " ",
        "é",
        "é",
        "a\nb",
        "[a]",
        "{a,b}",
        "\\",
        "?",
        "~",
        "-",
    ]
)
PATHS = lists(NAMES, max_size=12).map(lambda names: "/" + "/".join(names))


@given(PATHS)
def test_paths_are_normalized_like_posix(path: str) -> None:
    """Paths are normalised as text (specification.md#sysperm-paths)."""
    normal = normal_path(path)

    assert normal == posixpath.normpath("/" + path.lstrip("/"))
    assert normal_path(normal) == normal


def test_paths_and_scopes_are_normalized() -> None:
    """A scope that resolves to the root becomes `/.`, the root folder alone, not everything below."""
    paths = {
        "/": "/",
        "//": "/",
        "/..": "/",
        "/../../etc": "/etc",
        "//etc///nginx//": "/etc/nginx",
        "/etc/./nginx/.": "/etc/nginx",
        "/etc/nginx/../../srv/.ssh": "/srv/.ssh",
        "/etc/..nginx/...": "/etc/..nginx/...",
        "/etc/ nginx ": "/etc/ nginx ",
        "/a\\..\\b": "/a\\..\\b",
        "/%2e%2e/etc": "/%2e%2e/etc",
    }
    scopes = {
        "/": "/",
        "/..": "/.",
        "/etc/..": "/.",
        "/etc/../": "/",
        "/etc//nginx/": "/etc/nginx/",
        "/etc/nginx/.": "/etc/nginx",
        "/etc/*/../nginx": "/etc/nginx",
        "/etc/**/": "/etc/**/",
    }

    assert {path: normal_path(path) for path in paths} == paths
    assert {scope: normal_scope(scope) for scope in scopes} == scopes


def test_invalid_paths_are_refused() -> None:
    """A path is absolute and has no NUL (specification.md#sysperm-paths).

    A `?` in a scope matches one character; if it were `*`, a shell would expand the path.
    """
    deepest = "/a" * limits.PATH_PARTS_MAX

    for wrong in ("", "etc", "./etc", "~/x", "C:/x", " /etc", "/a\0b", f"{deepest}/a"):
        for normal in (normal_path, normal_scope):
            with pytest.raises(ValueError, match=r"absolute|NUL|parts"):
                normal(wrong)
    for path in ("/etc/*", "/*", "/a*b/c", "/**"):
        with pytest.raises(ValueError, match="a single path"):
            normal_path(path)
    assert normal_path(deepest) == normal_scope(deepest) == deepest
