"""Normal form of paths and scopes: unique, and never wider than the input."""

from __future__ import annotations

import posixpath
import unicodedata

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from, text

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
SCOPES = lists(NAMES | sampled_from(["*", "**", "*.conf", "a**b"]), max_size=12).map(
    lambda names: "/" + "/".join(names)
)


@given(PATHS)
def test_paths_are_normalized_like_posix(path: str) -> None:
    """Paths are normalised as text (specification.md#sysperm-paths)."""
    assert normal_path(path) == posixpath.normpath("/" + path.lstrip("/"))


@given(PATHS)
def test_path_normalization_is_idempotent(path: str) -> None:
    assert normal_path(normal_path(path)) == normal_path(path)


@given(SCOPES)
def test_scope_normalization_is_idempotent(scope: str) -> None:
    assert normal_scope(normal_scope(scope)) == normal_scope(scope)


@given(SCOPES)
def test_scope_keeps_its_trailing_slash(scope: str) -> None:
    assert normal_scope(scope).endswith("/") == scope.endswith("/")


@pytest.mark.parametrize(
    ("given_text", "normal"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/..", "/"),
        ("/../../etc", "/etc"),
        ("//etc///nginx//", "/etc/nginx"),
        ("/etc/./nginx/.", "/etc/nginx"),
        ("/etc/nginx/../../srv/.ssh", "/srv/.ssh"),
        ("/etc/..nginx/...", "/etc/..nginx/..."),
        ("/etc/ nginx ", "/etc/ nginx "),
        ("/a\\..\\b", "/a\\..\\b"),
        ("/%2e%2e/etc", "/%2e%2e/etc"),
    ],
)
def test_paths_are_normalized(given_text: str, normal: str) -> None:
    assert normal_path(given_text) == normal


@pytest.mark.parametrize(
    ("given_text", "normal"),
    [
        ("/", "/"),
        ("/..", "/."),
        ("/etc/..", "/."),
        ("/etc/../", "/"),
        ("/etc//nginx/", "/etc/nginx/"),
        ("/etc/nginx/.", "/etc/nginx"),
        ("/etc/*/../nginx", "/etc/nginx"),
        ("/etc/**/", "/etc/**/"),
    ],
)
def test_scopes_are_normalized(given_text: str, normal: str) -> None:
    """A scope that resolves to the root becomes `/.`, the root folder alone, not everything below."""
    assert normal_scope(given_text) == normal


@given(text(alphabet="é\u0065\u0301ÅA\u030aﬁİß", min_size=1))
def test_letters_are_unchanged(name: str) -> None:
    """Linux treats other compositions as other files, so there is no Unicode normalization."""
    assert normal_path(f"/{name}") == normal_scope(f"/{name}") == f"/{name}"
    assert normal_path("/e\u0301") != normal_path("/" + unicodedata.normalize("NFC", "e\u0301"))


@pytest.mark.parametrize(
    "wrong",
    ["", "etc", "./etc", "~/x", "C:/x", " /etc", "/a\0b", "/a" * (limits.PATH_PARTS_MAX + 1)],
)
@pytest.mark.parametrize("normal", [normal_path, normal_scope])
def test_invalid_paths_are_refused(wrong: str, normal: object) -> None:
    """A path is absolute and has no NUL (specification.md#sysperm-paths)."""
    assert callable(normal)
    with pytest.raises(ValueError, match=r"absolute|NUL|parts"):
        normal(wrong)


def test_maximum_number_of_parts_is_accepted() -> None:
    deepest = "/a" * limits.PATH_PARTS_MAX

    assert normal_path(deepest) == normal_scope(deepest) == deepest


@pytest.mark.parametrize("path", ["/etc/*", "/*", "/a*b/c", "/**"])
def test_paths_with_a_shell_glob_are_refused(path: str) -> None:
    """A `?` in a scope matches one character; if it were `*`, a shell would expand the path."""
    with pytest.raises(ValueError, match="a single path"):
        normal_path(path)
