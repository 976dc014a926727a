"""Paths and scopes in normal form:

one text for each thing that a text can name, and nothing made larger than it was.
"""

from __future__ import annotations

import posixpath
import unicodedata

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from, text

from remembrancer.protocol import limits
from remembrancer.protocol.paths import normal_path, normal_scope

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
def test_a_path_is_normal_as_posix_says(path: str) -> None:
    """Paths are normalised as text (specification.md#sysperm-paths)."""
    assert normal_path(path) == posixpath.normpath("/" + path.lstrip("/"))


@given(PATHS)
def test_what_is_normal_stays_as_it_is(path: str) -> None:
    assert normal_path(normal_path(path)) == normal_path(path)


@given(SCOPES)
def test_a_normal_scope_stays_as_it_is(scope: str) -> None:
    assert normal_scope(normal_scope(scope)) == normal_scope(scope)


@given(SCOPES)
def test_a_scope_is_a_folder_exactly_when_it_was_written_as_one(scope: str) -> None:
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
def test_paths(given_text: str, normal: str) -> None:
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
def test_scopes(given_text: str, normal: str) -> None:
    """A scope that leads up to the root names the root alone, `/.`, and never becomes all that is
    below it.
    """
    assert normal_scope(given_text) == normal


@given(text(alphabet="é\u0065\u0301ÅA\u030aﬁİß", min_size=1))
def test_letters_are_left_as_they_are(name: str) -> None:
    """Composed in another way it is another file on Linux, so no letter is composed, folded or
    decomposed.
    """
    assert normal_path(f"/{name}") == normal_scope(f"/{name}") == f"/{name}"
    assert normal_path("/e\u0301") != normal_path("/" + unicodedata.normalize("NFC", "e\u0301"))


@pytest.mark.parametrize(
    "wrong",
    ["", "etc", "./etc", "~/x", "C:/x", " /etc", "/a\0b", "/a" * (limits.PATH_PARTS_MAX + 1)],
)
@pytest.mark.parametrize("normal", [normal_path, normal_scope])
def test_what_is_no_absolute_path_is_refused(wrong: str, normal: object) -> None:
    """A path is absolute and has no NUL (specification.md#sysperm-paths)."""
    assert callable(normal)
    with pytest.raises(ValueError, match=r"absolute|NUL|parts"):
        normal(wrong)


def test_as_many_parts_as_may_be() -> None:
    deepest = "/a" * limits.PATH_PARTS_MAX

    assert normal_path(deepest) == normal_scope(deepest) == deepest


@pytest.mark.parametrize("path", ["/etc/*", "/*", "/a*b/c", "/**"])
def test_a_path_that_a_shell_would_make_many_of_is_refused(path: str) -> None:
    """A `?` in a scope stands for one letter; were `*` that letter, the shell would make more of
    it.
    """
    with pytest.raises(ValueError, match="a single path"):
        normal_path(path)
