"""The import page: preview, then store; errors that say what to do, and nothing stored by them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from console.reader import Reader, words_of
from console.window import Site
from playwright.sync_api import expect
from service import rows

from remembrancer.accounts import caller_for
from remembrancer.console import imports
from remembrancer.context import Context
from remembrancer.memory.exchange.export import export

PREVIEW, STORE = "/console/import/preview", "/console/import/store"


def said(id: str, role: str, at: float, text: str, **links: Any) -> dict[str, Any]:
    """Return a message of an export of ChatGPT."""
    content = {"content_type": "text", "parts": [text]}
    message = {"id": id, "author": {"role": role}, "create_time": at, "content": content}
    return {"id": id, "message": message, **links}


QUESTION, ANSWER = "When does the ferry leave?", "At 9:40 from pier 3."
CHAT = [
    {
        "title": "Ferry",
        "create_time": 1740823200.0,
        "mapping": {
            "a": said("a", "user", 1740823200.0, QUESTION, parent=None, children=["b"]),
            "b": said("b", "assistant", 1740823260.0, ANSWER, parent="a", children=[]),
        },
        "current_node": "b",
        "conversation_id": "c1",
        "id": "c1",
    }
]


def send(
    reader: Reader, path: str, content: bytes, name: str = "conversations.json", **form: str
) -> Any:
    """Send the form of the page with a file."""
    return reader.ask(
        "POST",
        path,
        data={"form_token": reader.form_token, **form},
        files={"file": (name, content, "application/octet-stream")},
        headers={"sec-fetch-site": "same-origin"},
    )


def test_preview_shows_what_a_file_holds_and_stores_nothing(owner: Reader) -> None:
    before = rows(owner.context)
    page = send(owner, PREVIEW, json.dumps(CHAT).encode())
    text = words_of(page.text)

    assert page.status_code == 200, text
    assert "Recognised as: ChatGPT: data export" in text
    assert "1 turn 0 facts 1 session" in text
    assert "2025-03-01 10:00 When does the ferry leave? At 9:40 from pier 3." in text
    assert rows(owner.context) == before


def test_invalid_records_are_listed_and_left_out(owner: Reader) -> None:
    content = b'{"query": "Where?", "response": "Here."}\n{"query": 5}\n'
    preview = words_of(send(owner, PREVIEW, content, "chat.jsonl").text)
    page = owner.followed(send(owner, STORE, content, "chat.jsonl"))

    assert "Invalid records, which are left out" in preview
    assert "chat.jsonl, line 2" in preview
    assert "Left out: 1 invalid record." in page.text


def test_shapes_are_listed_by_name_and_home_leads_to_them(owner: Reader) -> None:
    listed = words_of(owner.get("/console/import").text).partition("What can be imported ")[2]

    assert listed.startswith("basic-memory: Markdown notes with observations and relations ChatGPT")
    assert '<a href="/console/import">import</a>' in owner.get("/console").text


def test_preview_lists_what_is_left_out_with_its_place(owner: Reader) -> None:
    said = [{"role": "system", "content": "Be brief."}] * 101 + [{"role": "user", "content": "Hi"}]
    preview = words_of(send(owner, PREVIEW, json.dumps(said).encode(), "said.json").text)

    assert "Left out: 101 × system prompt said.json, record 1: system prompt" in preview
    assert "said.json, record 100: system prompt And 1 more:" in preview


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "empty.json", "Choose a file that is not empty."),
        (b"\x00\x01\x02 binary", "photo.raw", "photo.raw"),
        (b"[1, 2, 3]", "list.json", "list.json"),
        (b"PK\x03\x04 broken", "broken.zip", "broken.zip"),
        (b"not json", "../../etc/passwd.json", "passwd.json"),
    ],
)
@pytest.mark.parametrize("path", [PREVIEW, STORE])
def test_file_that_cannot_be_read_is_refused_with_its_name(
    owner: Reader, path: str, content: bytes, name: str, message: str
) -> None:
    before = rows(owner.context)
    answer = send(owner, path, content, name)

    assert answer.status_code == 422
    assert message in words_of(answer.text)
    assert ". Nothing was stored." in answer.text
    assert "--shape" not in answer.text  # an option of the command
    assert "remembrancer-import-" not in answer.text
    assert rows(owner.context) == before


def test_too_many_records_are_refused_with_another_way(
    owner: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "RECORDS_MAX", 2)
    before = rows(owner.context)

    for line in (b'{"query": "q", "response": "r%d"}', b'{"query": %d}'):
        content = b"\n".join([b'{"query": "q", "response": "r"}', *(line % n for n in range(3))])
        for page in (PREVIEW, STORE):
            answer = send(owner, page, content, "chat.jsonl")
            assert (answer.status_code, "imports at most 2" in words_of(answer.text)) == (422, True)
            assert "remembrancer import FILE" in answer.text
    assert rows(owner.context) == before


def test_file_over_the_limit_is_refused(owner: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "UPLOAD_BYTES_MAX", 10)
    answer = send(owner, STORE, b'{"query": "Where?", "response": "Here."}', "chat.jsonl")

    assert (answer.status_code, "a page takes at most 10" in answer.text) == (422, True)


def test_form_with_broken_parts_is_refused(owner: Reader) -> None:
    for kind, body in (
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"--b\r\nno head\r\n--b--\r\n"),
        ("multipart/form-data; boundary=b", b"--b\r\n" * 50),
    ):
        headers = {"content-type": kind, "sec-fetch-site": "same-origin"}
        answer = owner.ask("POST", STORE, content=body, headers=headers)

        assert answer.status_code in (403, 415, 422), answer.text


def test_export_of_this_service_is_restored_by_owners_alone(
    owner: Reader, ada: Reader, context: Context, tmp_path: Path
) -> None:
    send(owner, STORE, b'{"query": "Where?", "response": "Here."}', "chat.jsonl", user_id="mia")
    path = tmp_path / "memory.zip"
    export(context, caller_for(context), path)
    content = path.read_bytes()

    assert "An export of this service" in words_of(send(owner, PREVIEW, content, "m.zip").text)
    page = owner.followed(send(owner, STORE, content, "m.zip"))
    assert "Imported: 0 records; already there: " in page.text
    refused = send(ada, STORE, content, "m.zip")
    assert (refused.status_code, "Only an owner" in refused.text) == (422, True)


def test_names_in_archives_are_labels_alone(owner: Reader, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../../tmp/evil/conversations.json", json.dumps(CHAT))
    answer = send(owner, PREVIEW, buffer.getvalue(), "chats.zip")

    assert answer.status_code == 200
    assert not Path("/tmp/evil").exists()  # noqa: S108 - what a careless reader would write


@pytest.mark.parametrize("page", [PREVIEW, STORE])
def test_archive_that_unpacks_to_much_is_refused(owner: Reader, page: str) -> None:
    """Also one whose ratio is that of real text."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(210):
            archive.writestr(f"{number}.jsonl", b" " * (1 << 20))
        archive.writestr("noise.txt", Random(1).randbytes(3 << 20), zipfile.ZIP_STORED)
    answer = send(owner, page, buffer.getvalue(), "chats.zip")

    assert answer.status_code == 422
    assert "The archive unpacks to 223,346,688 bytes" in words_of(answer.text)


def test_chosen_file_is_previewed_at_once_and_then_imported(site: Site, tmp_path: Path) -> None:
    """Choosing a file and dropping one are the same event of the field."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(CHAT))
    with site.window("owner") as page:
        page.goto("/console/import")
        page.get_by_label("File: drop it here").set_input_files(path)
        expect(page.locator("#preview")).to_contain_text("ChatGPT: data export")
        expect(page.locator("#preview")).to_contain_text("When does the ferry leave?")
        with page.expect_response("**/console/import/preview"):
            page.get_by_role("button", name="Preview").click()
        expect(page.locator("#preview")).to_contain_text("When does the ferry leave?")
        preview = page.locator("#preview").bounding_box()
        button = page.get_by_role("button", name="Import", exact=True).bounding_box()
        assert preview
        assert button
        assert preview["y"] + preview["height"] <= button["y"]
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("Imported: 1 turn and")
