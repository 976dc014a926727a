"""Programs in the answers of models, and secrets in the requests to them."""

from __future__ import annotations

import pytest

from remembrancer.context import without_secrets
from remembrancer.repair.models.prompts import SecretMask, extract_program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("~~~\nx = 1\n~~~", "x = 1\n"),
        ("Before:\n```\nlong = 'output that is longer'\n```\nAfter:\n```py\nx = 1\n```", "x = 1\n"),
        ("```python\nx = 1\n", "x = 1\n"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''\n"),
        ("```{.python}\r\nx = 1\r\n```\r\n", "x = 1\n"),
        ("x = 1", "x = 1\n"),
        ("```python\n\n```", None),
        ("  ", None),
    ],
)
def test_program_is_extracted_from_an_answer(text: str, program: str | None) -> None:
    assert extract_program(text) == program


def test_placeholders_of_secrets_are_not_masked_again() -> None:
    """Otherwise the program would come back without its key."""
    code = 'password = "hunter2hunter2"\ntoken = "ghp_' + '16C7e42F292c6912E7710c838347Ae178B4a"\n'
    mask = SecretMask(code)

    masked = mask.apply(code)
    assert "hunter2" not in masked
    assert mask.restore(without_secrets(masked)) == code
