"""JSON files are edited as text: what others wrote keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.install.json_text import EditableJson, JsonTextError

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
