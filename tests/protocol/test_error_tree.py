"""The hierarchy of errors."""

from __future__ import annotations

import re

from remembrancer.protocol import errors
from remembrancer.protocol.errors import PROBLEMS, Conflict, Internal, Problem, ProblemBody


def test_error_codes_are_unique() -> None:
    words = [kind.error for kind in PROBLEMS]

    assert len(set(words)) == len(words) == len(Problem.__subclasses__())
    assert all(re.fullmatch(r"[a-z_]+", word) for word in words)


def test_module_docstring_lists_every_error() -> None:
    drawn = re.findall(r"── (\w+) +(\d{3})", errors.__doc__ or "")

    assert {(name, int(status)) for name, status in drawn} == {
        (kind.__name__, kind.status) for kind in PROBLEMS
    }


def test_default_detail_is_the_docstring() -> None:
    assert Internal().detail == "The service failed. Its log has more under the id in `instance`."


def test_body_has_the_documented_fields() -> None:
    """The body has RFC 9457's fields and `error` (specification.md#error-shape)."""
    body = Conflict("There is another.", of="turn").body("r1")

    assert body == {
        "type": "urn:remembrancer:error:conflict",
        "title": "Conflict",
        "status": 409,
        "detail": "There is another.",
        "instance": "r1",
        "error": "conflict",
        "of": "turn",
    }
    ProblemBody.model_validate(body)
