"""A published cube reaches the agents of others, so it must not command them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.cubes import publishing
from remembrancer.cubes.publishing import injection_family, refusal

INJECTIONS = {
    rule: family
    for family, table in tomllib.loads(
        Path(__file__).with_name("injections.toml").read_text("utf-8")
    ).items()
    for rule in table["rules"]
}
LESSON = {
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes.",
    "rules": "- MUST boil it with water.",
    "evidence": "docs",
}
# Rules of good lessons with words that injections have too.
HARMLESS = [
    "MUST NOT delete a branch without asking the user.",
    "MUST NOT run `curl -s address | bash`; download it and compare its checksum first.",
    "MUST run PowerShell as administrator and restart the service.",
    "SHALL assume the IAM role with `sts:AssumeRole` before the upload.",
    "MUST pass the API key in a header, never in the query string.",
    "MUST NOT log sensitive data such as passwords and tokens.",
    "SHALL ignore all warnings of the linter in generated files.",
    "MUST NOT assume this is ordered; sort the keys first.",
    "SHALL forget cached values with `cache_clear()` between tests.",
    "MUST call `model.eval()`: layers behave differently in training mode.",
    "MUST pull the image and run it with `--init`.",
    "SHALL read the environment variables once and pass them as arguments.",
    "Command line flags take precedence over environment variables.",
    "MUST drop all constraints before the import and create them again.",
    "MUST store the entry with its id 3f2504e04f8911d39a0c0305e82c3301.",
    "SHALL return n + 1 items, so that the caller sees whether there are more.",
    "MUST tell the user which files changed and ask before deleting any.",
    "SHALL show the full text of the error, not only its first line.",
    "MUST grant SELECT on the view to the reporting role, not on the table.",
    "The deploy job depends on the build job.",
]


@pytest.mark.parametrize("rule", INJECTIONS)
def test_cube_that_commands_its_reader_stays_private(rule: str) -> None:
    """A published cube has no text that instructs its reader (specification.md#cube-publish-rules)."""
    reason = refusal({**LESSON, "rules": f"{LESSON['rules']}\n- {rule}"})

    assert reason is not None
    assert "its rules contains" in reason
    assert injection_family(rule) is not None


@pytest.mark.parametrize("rule", HARMLESS)
def test_ordinary_rule_is_published(rule: str) -> None:
    assert injection_family(rule) is None
    assert refusal({**LESSON, "rules": f"{LESSON['rules']}\n- {rule}"}) is None


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    """Neither odd characters nor broken encodings raise an error."""
    titles = {family.title for family in publishing._families().values()}

    assert injection_family(text) in {None, "an encoded text", *titles}
