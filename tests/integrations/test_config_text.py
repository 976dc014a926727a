"""JSON, TOML and YAML files are edited as text: what others wrote keeps its bytes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.install.config_files import ConfigUnreadable, write
from remembrancer.install.json_text import EditableJson, JsonTextError
from remembrancer.install.toml_text import toml_change
from remembrancer.install.yaml_text import yaml_change

SERVER = {"command": "python", "args": ["-m", "remembrancer", "mcp"]}
TEXTS = [
    "{}",
    "{ }\n",
    "{\n}\n",
    '{"servers": {}}',
    '{\n  "servers": {\n  }\n}\n',
    '{"a": 1}',
    '{"a": 1, "servers": {"other": {"url": "x"}}}',
    '{\n\t"a": 1.10,\n\t"servers": {\n\t\t"other": {"url": "é"}\n\t}\n}',
    '{\r\n  "a": [1,\r\n 2]\r\n}\r\n',
    '{\n  "a": 1e400000,   "b":   "\\u00e9"\n}\n\n',
]
COMMENTED = [
    "// mine\n{\n  // nothing yet\n}\n",
    '{\n  "a": 1, // one\n  "b": 2 // two\n}\n',
    '{\n  "a": 1, // one\n  "b": 2, // trailing\n}\n',
    '{\n  "servers": {\n    // "other": {},\n  },\n  /* end */\n}',
    '{"servers": {"other": 1,}, /* x */ }',
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a file that does not exist."""
    return tmp_path / "config"


def edited(text: str | None, *, allows_comments: bool = True) -> EditableJson:
    document = EditableJson(text, allows_comments=allows_comments)
    document.put(("servers", "ours"), SERVER)
    return document


@pytest.mark.parametrize("text", [*TEXTS, *COMMENTED])
def test_added_and_removed_item_leaves_the_same_bytes(text: str) -> None:
    document = edited(text)
    assert document.value("servers", "ours") == SERVER
    assert document.text != text

    again = EditableJson(document.text, allows_comments=True)
    again.remove(("servers", "ours"))

    assert again.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1', "comma is missing|name in quotes"),
        ('{"a" 1}', "colon"),
        ("{a: 1}", "name in quotes"),
        ('{"a": 1} x', "behind the value"),
        ('{"a": 1, "a": 2}', "duplicate name"),
        ('{"a": NaN}', "NaN"),
        ('{"a": tru}', "not a value"),
        ("[" * 100_000, "more than 100 levels"),
        ('{"a": "x\n"}', "a value is missing"),
    ],
)
def test_invalid_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(JsonTextError, match=message):
        EditableJson(text, allows_comments=True)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "other"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "é"]), VALUES, max_size=3),
    st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2) | st.none(),
    st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_any_document_is_restored(
    value: dict[str, Any], servers: dict[str, Any] | None, indent: int | str | None
) -> None:
    """Also empty objects and arrays, with any indentation."""
    whole = value if servers is None else {**value, "servers": servers}
    text = json.dumps(whole, indent=indent, ensure_ascii=False)
    document = edited(text, allows_comments=False)
    assert json.loads(str(document.text)) == {
        **value,
        "servers": {**(servers or {}), "ours": SERVER},
    }

    document.remove(("servers", "ours"))

    assert document.text == text


TABLE = ("servers", "ours")
BODY = 'command = "python"\nargs = ["-m", "x"]\n'
TRUST = [("hooks", "state", "/h/hooks.json:stop:0:0"), ("hooks", "state", "/h/hooks.json:stop:0:1")]
TOML = [
    'model = "x"  # fast\n',
    'model = "x"',
    "# mine\n\n[servers.other]\ncommand = 'x'\n# end\n",
    "[servers]\n\n[[list]]\na = 1\n",
    'text = """\n[servers.ours]\n"""\r\n',
    "\n",
]


@pytest.mark.parametrize("text", TOML)
def test_added_and_removed_table_leaves_the_same_bytes(file: Path, text: str) -> None:
    file.write_bytes(text.encode())

    write([toml_change(file, TABLE, BODY)])
    installed = tomllib.loads(file.read_bytes().decode())
    again = toml_change(file, TABLE, BODY)
    write([toml_change(file, TABLE, None)])

    assert installed["servers"]["ours"] == tomllib.loads(BODY)
    assert again.before == again.after
    assert file.read_bytes() == text.encode()


def test_tables_that_codex_adds_survive_the_removal(file: Path) -> None:
    """Codex appends the trust in a folder and in hooks behind the last table."""

    def trust(hooks: str, number: int) -> str:
        return f'\n[hooks.state."/h/{hooks}.json:stop:0:{number}"]\ntrusted_hash = "1"\n'

    project = '\n[projects."/p"]\ntrust_level = "trusted"\n'
    ours = trust("hooks", 0) + trust("hooks", 1)
    for others in ("", trust("other", 0)):
        file.write_text("a = 1\n", "utf-8")
        write([toml_change(file, TABLE, BODY)])
        added = f"{project}\n[hooks.state]\n{ours}{others}"
        file.write_text(file.read_text("utf-8") + added, "utf-8")

        write([toml_change(file, TABLE, None, obsolete=TRUST)])

        kept = f"\n[hooks.state]\n{others}" if others else ""
        assert file.read_text("utf-8") == f"a = 1\n{project}{kept}"


def test_toml_that_cannot_be_edited_is_refused(file: Path) -> None:
    """A table of the user is not removed, either."""
    own = "[servers.ours]\na = 1\n"
    for text, message in (
        ("a = ", "not valid TOML"),
        (own, "already has `servers.ours`"),
        ("servers = {ours = {a = 1}}\n", "already has"),
        ("servers = {other = {a = 1}}\n", "not valid TOML|cannot be edited"),
    ):
        file.write_text(text, "utf-8")
        with pytest.raises(ConfigUnreadable, match=message):
            toml_change(file, TABLE, BODY)
    file.write_text(own, "utf-8")
    change = toml_change(file, TABLE, None)
    assert change.before == change.after


EXTENSION = ("extensions", "ours")
ENTRY = {"type": "stdio", "enabled": True, "args": ["-m", "x: #y"], "envs": {}}
YAML = [
    "a: 1\n",
    "a: 1",
    "---\na: 1\n",
    "# mine\n\na: 1  # one\n",
    "extensions: {}\na: 1\n",
    "extensions: {} # none\r\na: 1\r\n",
    "extensions:\n",
    "a: 1\nextensions:\n    other:\n        enabled: true\n",
    "extensions:\n  # first\n\n  other: {enabled: true}\n  # last\n\n# end\nb:\n  - x\n  - y",
    "b:\n- x\n- y\nextensions:\n  other:\n    text: |\n      one\n\n      two\nc: 'd: e'\n".replace(
        "- ", "  - "
    ),
    'text: "a\n  b"\nextensions:\n  ours2: {}\n',
]


@pytest.mark.parametrize("text", YAML)
def test_added_and_removed_entry_leaves_the_same_bytes(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    before = yaml.safe_load(text)

    write([yaml_change(file, EXTENSION, ENTRY)])
    installed = yaml.safe_load(file.read_bytes())
    again = yaml_change(file, EXTENSION, ENTRY)
    write([yaml_change(file, EXTENSION, None)])

    assert installed == {
        **before,
        "extensions": {**(before.get("extensions") or {}), "ours": ENTRY},
    }
    assert again.before == again.after
    assert file.read_bytes() == text.encode()


def test_yaml_that_cannot_be_edited_is_refused(file: Path) -> None:
    for text in (
        "extensions: {a: 1}\n",
        "extensions: &x\n  a: 1\n",
        "extensions:\n  a: 1\nextensions:\n  b: 1\n",
        "extensions:\n  ours: 1\n  ours: 2\n",
        "extensions:\n    a: 1\n  b: 1\n",
        "{extensions: {}}\n",
        "just text\n",
    ):
        file.write_text(text, "utf-8")
        with pytest.raises(ConfigUnreadable, match="Nothing was written"):
            yaml_change(file, EXTENSION, ENTRY)
