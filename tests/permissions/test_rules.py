"""Rules of grants: paths and scopes."""

from __future__ import annotations

import re

import apsw
import pytest
from hypothesis import example, given
from hypothesis.strategies import lists, sampled_from

from remembrancer.permissions.grants import (
    covers,
    examples,
    wider,
)
from remembrancer.protocol.permissions import normal_path, normal_scope

PLAIN = sampled_from(
    ["a", "b", "ab", "a.b", ".a", "A", "é", "e\u0301", "[a]", "\\", "?", "a\nb", ".."]
)
PATHS = lists(PLAIN, max_size=6).map(lambda names: normal_path("/" + "/".join(names)))
WILD = PLAIN | sampled_from(["*", "**", "*.b", "a*", "?b", "*a*b*", "a**", "??", ""])
SCOPES = lists(WILD, max_size=6).map(lambda names: normal_scope("/" + "/".join(names)))


def reference(scope: str) -> re.Pattern[str]:
    """Return a reference implementation of a scope as a regex, too slow for production."""
    if scope == "/.":
        return re.compile("/")
    *folders, last = scope.split("/")[1:]
    parts = ["(?:/[^/]+)*" if name == "**" else "/" + _name(name) for name in folders]
    return re.compile("".join([*parts, "(?:/[^/]+)+" if last in ("", "**") else "/" + _name(last)]))


def _name(pattern: str) -> str:
    letters = "".join(
        {"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter)) for letter in pattern
    )
    return f"(?=[^/]){letters}"  # no name is empty


@given(SCOPES, PATHS)
@example("/**/**/**/b", "/a/b/a/b")
@example("/*a*a*a*b", "/aaaaaaab")
@example("/**", "/")
@example("/*", "/")
def test_scope_covers_the_paths_of_its_pattern(scope: str, path: str) -> None:
    assert covers(scope, path) == bool(reference(scope).fullmatch(path))


_DATABASE = apsw.Connection(":memory:")


@given(SCOPES, PATHS)
@example("/**/b", "/b")
@example("/a/**/**", "/a/b")
@example("/[a]*", "/[a]b")
@example("/?", "/é")
@example("/.", "/")
def test_paths_excluded_by_the_database_are_not_covered(scope: str, path: str) -> None:
    """Otherwise a check would miss a grant that allows it."""
    [(fits,)] = _DATABASE.execute("select ? glob ?", (path, wider(scope))).fetchall()

    assert fits or not covers(scope, path)


@given(SCOPES)
@example("/")
@example("/.")
@example("/**")
@example("/**/**/a")
@example("/a/**/")
def test_examples_of_a_scope_are_correct(scope: str) -> None:
    """The owner relies on these examples."""
    inside, outside = examples(scope)

    assert all(covers(scope, path) for path in inside)
    assert not any(covers(scope, path) for path in outside)
    assert [normal_path(path) for path in inside + outside if "*" not in path] == [
        path for path in inside + outside if "*" not in path
    ]


@given(PATHS, PATHS)
def test_folder_scope_covers_only_paths_below_it(folder: str, path: str) -> None:
    """`..` leads out of no scope (specification.md#sysperm-scope)."""
    scope = folder.replace("?", "").rstrip("/") + "/"

    assert covers(normal_scope(scope), path) == (
        path.startswith(normal_scope(scope)) and path != normal_scope(scope)
    )


@pytest.mark.parametrize(
    ("scope", "path", "covered"),
    [
        ("/etc/hosts", "/etc/hosts", True),
        ("/etc/hosts", "/etc/hosts/x", False),
        ("/etc/hosts", "/etc/hostsx", False),
        ("/etc/hosts", "/etc/Hosts", False),
        ("/etc/nginx/", "/etc/nginx/a/b/.c", True),
        ("/etc/nginx/", "/etc/nginx", False),
        ("/etc/nginx/", "/etc/nginx2/a", False),
        ("/", "/etc", True),
        ("/", "/", False),
        ("/.", "/", True),
        ("/.", "/etc", False),
        ("/etc/nginx/*.conf", "/etc/nginx/a.conf", True),
        ("/etc/nginx/*.conf", "/etc/nginx/.conf", True),
        ("/etc/nginx/*.conf", "/etc/nginx/sites/a.conf", False),
        ("/etc/nginx/*.conf", "/etc/nginx/a.conf.bak", False),
        ("/people/*/", "/people/ada/x/y", True),
        ("/people/*/", "/people/ada", False),
        ("/srv/**/*.html", "/srv/a.html", True),
        ("/srv/**/*.html", "/srv/a/b/c.html", True),
        ("/srv/**", "/srv", False),
        ("/srv/**", "/srv/a/b", True),
        ("/srv/a**b", "/srv/axb", True),
        ("/srv/a**b", "/srv/a/b", False),
        ("/srv/?", "/srv/é", True),
        ("/srv/?", "/srv/e\u0301", False),
        ("/srv/[ab]", "/srv/a", False),
        ("/srv/[ab]", "/srv/[ab]", True),
        ("/srv/*[ab]", "/srv/x[ab]", True),
    ],
)
def test_scopes_behave_as_in_the_guide(scope: str, path: str, covered: bool) -> None:
    assert covers(scope, path) == covered


def test_hostile_patterns_are_matched_in_polynomial_time() -> None:
    """With backtracking at every `*`, this would never finish."""
    assert not covers("/" + "*a" * 100 + "b", "/" + "a" * 1000)
    assert not covers("/**" + "/**/a" * 60 + "/b", "/a" * 128)
