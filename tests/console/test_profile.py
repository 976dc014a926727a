"""The profile page: keys, agent set-up, prompt, password and browser sessions."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from command import captured
from console.reader import ORIGIN, Reader
from console.window import Site
from playwright.sync_api import Page, expect
from service import new_key, rows, serving
from starlette.applications import Starlette

from remembrancer.accounts import keys
from remembrancer.accounts.sign_in import accept, invite
from remembrancer.context import Context
from remembrancer.protocol.limits import ID_CHARACTERS_MAX as ID_MAX

GOOD, BETTER = "correct horse battery", "a better horse battery"


def pasted(page: str, name: str) -> str:
    """Return the content of the copyable block with this id."""
    block = re.search(rf'<pre id="{name}" tabindex="0"><code>(.*?)</code></pre>', page, re.DOTALL)
    assert block is not None
    return unescape(block[1])


class TestCreateKeys:
    """Users create, label, pin, expire and revoke keys (specification.md#auth-key-page)."""

    def test_key_works_and_is_shown_once(self, owner: Reader) -> None:
        page = owner.send("/profile/keys", label="laptop", user_id="", may="write", lasts="")
        key = pasted(page.text, "new-key")

        assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
        assert owner.http.with_key(key).memory("x")["hits"] == []
        assert page.text.count(key) == 3  # once to copy and twice in the set-up texts
        later = owner.get("/profile").text
        assert key not in later
        assert f"sk_{key[3:11]}…" in later

    def test_member_creates_keys_of_their_own_account(self, ada: Reader) -> None:
        ada.send("/profile/keys", label="", user_id="", may="write", lasts="")

        assert [key.account for key in keys.list_keys(ada.context)] == ["ada"]
        assert keys.list_keys(ada.context)[0].label == ""

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("label", "x" * 201, "0 to 200 characters"),
            ("label", "a\u2028b", "one line"),
            ("user_id", "u" * (ID_MAX + 1), f"1 to {ID_MAX} characters"),
            ("lasts", "36501d", "when the key expires"),
            ("lasts", "-1d", "when the key expires"),
        ],
    )
    def test_invalid_key_form_creates_no_key(
        self, owner: Reader, field: str, value: str, message: str
    ) -> None:
        before = rows(owner.context)
        form = {"label": "kept", "user_id": "", "may": "write", "lasts": "", field: value}
        answer = owner.send("/profile/keys", **form)

        assert (answer.status_code, message in answer.text) == (422, True)
        assert (rows(owner.context), keys.list_keys(owner.context)) == (before, [])
        assert field == "label" or 'value="kept"' in answer.text


class TestChangeKeys:
    """Revoking and renaming the account's own keys."""

    def test_revoked_key_is_rejected_at_once_and_still_listed(self, owner: Reader) -> None:
        http = owner.http
        [existing] = keys.list_keys(owner.context)
        page = owner.followed(owner.send("/profile/keys/revoke", key_id=str(existing.id)))

        assert http.get("/api/v7/memory/start").status_code == 401
        assert "The key is revoked" in page.text
        assert "Expired and revoked: 1" in page.text
        assert owner.send("/profile/keys/revoke", key_id=str(existing.id)).status_code == 404

    @pytest.mark.parametrize("key_id", ["", "0", "-1", "1.0", "١", "9" * 30, "of_another_account"])
    def test_keys_of_another_account_cannot_be_changed(
        self, owner: Reader, ada: Reader, key_id: str
    ) -> None:
        new_key(owner.context)
        [existing] = keys.list_keys(owner.context)
        named = str(existing.id) if key_id == "of_another_account" else key_id
        answers = [
            ada.send("/profile/keys/revoke", key_id=named),
            ada.send("/profile/keys/label", key_id=named, label="mine"),
        ]

        assert [answer.status_code for answer in answers] == [404, 404]
        assert keys.list_keys(owner.context) == [existing]
        assert existing.hint not in ada.get("/profile").text


class TestSetUp:
    """The set-up instructions of the page, run as shown."""

    def test_python_example_stores_and_finds_a_turn(
        self, app: Starlette, tmp_path: Path, owner: Reader
    ) -> None:
        with serving(app) as port:
            page = owner.send("/profile/keys", label="", user_id="", may="write", lasts="").text
            exports = pasted(page, "paste-environment").replace(ORIGIN, f"http://127.0.0.1:{port}")
            (tmp_path / "try.py").write_text(pasted(page, "paste-python"), "utf-8")
            output = subprocess.run(
                ["sh", "-ec", f"{exports}\n{sys.executable} {tmp_path / 'try.py'}\n"],
                stdout=subprocess.PIPE,
                text=True,
                timeout=60,
                check=True,
                env=without_proxies(),
            ).stdout

        assert output == "At 9:40 from Piombino, pier 3.\n"

    def test_cursor_and_claude_code_set_up_reaches_the_mcp_server(self, owner: Reader) -> None:
        page = owner.send("/profile/keys", label="", user_id="", may="write", lasts="").text
        cursor = json.loads(pasted(page, "paste-cursor"))["mcpServers"]["remembrancer"]
        client = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {}}
        params = {"protocolVersion": "2025-11-25", **client}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        headers = {**cursor["headers"], "Accept": "application/json, text/event-stream"}
        answer = owner.client.post(cursor["url"], json=body, headers=headers)

        assert answer.json()["result"]["serverInfo"]["name"] == "remembrancer"
        words = shlex.split(pasted(page, "paste-claude-mcp"))
        assert words[:5] == ["claude", "mcp", "add", "--transport", "http"]
        assert words[6:8] == ["$REMEMBRANCER_URL/mcp", "--header"]
        assert words[8:] == ["Authorization: Bearer $REMEMBRANCER_KEY"]

    def test_account_names_are_quoted_in_shell_json_and_python(
        self, read_as: Callable[[str], Reader]
    ) -> None:
        """The examples hold the account name in JSON inside shell quotes, and in a program."""
        read_as("owner")
        name = 'o\'neil "$(id)" `id` \\ \N{GRINNING FACE}'
        page = read_as(name).get("/console/connect").text
        curl, python = pasted(page, "paste-curl"), pasted(page, "paste-python")
        body = captured(
            ["sh", "-c", curl.partition("\n\n")[2].replace("curl ", "printf '%s\\n' ", 1)],
            check=True,
        ).stdout.splitlines()[-1]

        assert body == '{"query_text": "ferry", "user_id": ' + _json(name) + "}"
        assert f"user_id={_json(name)}" in python
        compile(python, "try.py", "exec")


def without_proxies() -> dict[str, str]:
    """Return the environment of a program that asks the service itself."""
    return {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }


def _json(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class TestPrompt:
    """The user's own part of the agent prompt (specification.md#prompt-write)."""

    def test_too_long_prompt_is_reported_and_stays_in_the_form(self, owner: Reader) -> None:
        for prompt in ("x" * 20_001, "計" * 20_001):
            answer = owner.send("/profile/prompt", user_id="bo", prompt=prompt)

            assert (answer.status_code, prompt in answer.text) == (422, True)
            assert "at most 20000 characters" in answer.text
        assert owner.send("/profile/prompt", user_id="bo", prompt="計" * 20_000).status_code == 303


class TestPassword:
    """Changing the password requires the old one and ends the other sessions."""

    @pytest.fixture
    def bo(self, owner: Reader, context: Context, read_as: Callable[[str], Reader]) -> Reader:
        """A member with the password GOOD."""
        accept(context, invite(context, "bo").reveal(), GOOD)
        return read_as("bo")

    def test_new_password_signs_in_and_only_other_sessions_end(
        self, bo: Reader, read_as: Callable[[str], Reader]
    ) -> None:
        other, old = read_as("bo"), dict(bo.cookies)
        page = bo.followed(bo.send("/profile/password", old=GOOD, new=BETTER, again=BETTER))

        assert "The password is changed." in page.text
        assert bo.cookies != old
        assert (bo.get("/profile").status_code, other.get("/profile").status_code) == (200, 303)
        bo.cookies = {}
        assert bo.send_as("", "/console/sign-in", name="bo", password=GOOD).status_code == 403
        assert bo.send_as("", "/console/sign-in", name="bo", password=BETTER).status_code == 303

    @pytest.mark.parametrize(
        ("old", "new", "again", "status", "message"),
        [
            (GOOD.upper(), BETTER, BETTER, 403, "The current password is wrong."),
            ("", BETTER, BETTER, 403, "The current password is wrong."),
            (GOOD, BETTER, GOOD, 422, "passwords are different"),
            (GOOD, "short", "short", 422, "12 to 200 characters"),
            (GOOD, "x" * 201, "x" * 201, 422, "12 to 200 characters"),
        ],
    )
    def test_invalid_password_change_is_rejected(
        self, bo: Reader, old: str, new: str, again: str, status: int, message: str
    ) -> None:
        answer = bo.send("/profile/password", old=old, new=new, again=again)

        assert (answer.status_code, message in answer.text) == (status, True)
        assert bo.get("/profile").status_code == 200
        assert bo.send("/profile/password", old=GOOD, new=BETTER, again=BETTER).status_code == 303

    def test_wrong_current_passwords_are_rate_limited(self, bo: Reader, context: Context) -> None:
        answers = [
            bo.send("/profile/password", old=f"guess number {n}", new=BETTER, again=BETTER)
            for n in range(6)
        ]

        assert [answer.status_code for answer in answers] == [403] * 5 + [429]
        assert int(answers[-1].headers["retry-after"]) >= 1


class TestBrowsers:
    """The browser sessions of the account."""

    def test_browser_sessions_are_listed_with_this_one_marked(
        self, owner: Reader, context: Context
    ) -> None:
        token = invite(context, "owner").reveal()
        agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
        owner.ask(
            "POST",
            "/console/password",
            data={"token": token, "password": GOOD, "again": GOOD},
            headers={"user-agent": agent, "sec-fetch-site": "same-origin"},
        )

        assert re.search(
            r'<th scope="row">Firefox on Linux\s*<span class="badge good">this browser</span>',
            owner.get("/profile").text,
        )


def test_keys_are_created_and_revoked_without_javascript(site: Site) -> None:
    with site.window("owner", java_script_enabled=False) as page:
        page.goto("/profile")
        page.get_by_placeholder("laptop").fill("laptop")
        page.get_by_role("button", name="Create key").click()
        expect(page.get_by_role("button", name="Copy the key")).to_be_hidden()
        _revoke_the_only_key(page)

        expect(page.get_by_role("status").first).to_have_text(
            "The key is revoked. Requests with it are rejected from now on."
        )
        expect(page.get_by_text("No keys yet")).to_be_visible()


def _revoke_the_only_key(page: Page) -> None:
    page.locator(".confirm summary").click()
    page.get_by_role("button", name="Revoke key").click()
