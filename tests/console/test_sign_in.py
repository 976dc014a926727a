"""Signing in with a name and a password, as a browser and as an attacker."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Cli
from console.reader import ORIGIN, Reader
from console.test_frame import POLICY, inline_code

from remembrancer.accounts.sign_in import accept, invite
from remembrancer.console.routes import PAGES
from remembrancer.context import Context
from remembrancer.server.run import welcome

GOOD = "correct horse battery"
SIGNED_IN = '<span class="name" title="Signed in as'


@pytest.fixture
def browser(read_as: Callable[[str], Reader]) -> Reader:
    """A browser that is not signed in."""
    browser = read_as("owner")
    browser.cookies = {}
    return browser


@pytest.fixture
def owner(read_as: Callable[[str], Reader], context: Context) -> Reader:
    """A browser that is signed in as the owner, whose password is GOOD."""
    accept(context, invite(context, "owner").reveal(), GOOD)
    return read_as("owner")


def sign_in(browser: Reader, name: str, password: str) -> Any:
    """Send the form to sign in."""
    return browser.send_as("", "/console/sign-in", name=name, password=password)


def set_password(browser: Reader, token: str, password: str = GOOD, again: str = GOOD) -> Any:
    """Send the form of an invitation."""
    form = {"token": token, "password": password, "again": again}
    return browser.send_as("", "/console/password", **form)


def test_welcome_prints_a_link_that_sets_the_owners_password_once(
    context: Context, browser: Reader
) -> None:
    """The first start prints the owner's link once (specification.md#console-sign-in)."""
    [path] = re.findall(rf"{ORIGIN}(/console/password\?token=\S+)", welcome(context, ORIGIN))
    page = browser.get(path)
    answer = set_password(browser, path.partition("=")[2])

    assert "Set the password of owner" in page.text
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert "owner of this service" in browser.get("/console").text
    assert browser.get(path).status_code == 404
    assert "/console/password" not in welcome(context, "http://127.0.0.1:1")


def test_name_and_password_sign_in(owner: Reader, browser: Reader) -> None:
    assert browser.get("/console").headers["location"] == "/console/sign-in"

    answer = sign_in(browser, "owner", GOOD)

    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert f'{SIGNED_IN} owner, an owner of this service">' in browser.get("/console").text
    assert browser.get("/console/sign-in").headers["location"] == "/console"


@pytest.mark.parametrize(
    ("name", "password"),
    [("owner", "wrong horse battery"), ("nobody", GOOD), ("", ""), ("owner", "x" * 5000)],
)
def test_wrong_name_and_wrong_password_get_the_same_answer(
    owner: Reader, browser: Reader, name: str, password: str
) -> None:
    answer = sign_in(browser, name, password)

    assert (answer.status_code, browser.cookies) == (403, {})
    assert "The name or the password is wrong." in answer.text
    assert password not in answer.text or not password


def test_repeated_failures_lock_the_name(owner: Reader, browser: Reader) -> None:
    """Failed sign-ins lock a name (specification.md#console-lockout)."""
    answers = [sign_in(browser, "owner", GOOD.upper()) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert answers[-1].headers["retry-after"] == "30"
    assert "owner of this service" in owner.get("/console").text


@pytest.mark.settings(rate_sign_in_per_minute=5)
def test_sign_in_attempts_per_address_are_limited(browser: Reader) -> None:
    """They are limited to 5 per minute and address (specification.md#rate-defaults)."""
    answers = [sign_in(browser, f"n{n}", GOOD) for n in range(6)]

    assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60


def test_session_cookie_is_http_only_and_same_site(browser: Reader, context: Context) -> None:
    """The session is an `HttpOnly` cookie (specification.md#console-session-cookie)."""
    answer = set_password(browser, invite(context, "owner").reveal())

    assert re.fullmatch(
        r"session=[\w-]{43}; Path=/; Max-Age=1209600; HttpOnly; SameSite=Strict",
        answer.headers["set-cookie"],
    )


@pytest.mark.settings(public_url="https://memory.example.org/", rate_sign_in_per_minute=0)
def test_service_behind_tls_uses_its_public_url(browser: Reader, context: Context) -> None:
    """With HTTPS the cookie has the prefix `__Host-` (specification.md#console-session-cookie)."""
    form, origin = {"name": "a", "password": "b"}, {"Origin": "https://memory.example.org"}
    accepted = browser.ask("POST", "/console/sign-in", data=form, headers=origin)
    answer = set_password(browser, invite(context, "owner").reveal())
    page = browser.get("/console")
    browser.cookies = {"session": browser.cookies["__Host-session"]}

    assert re.fullmatch(
        r"__Host-session=[\w-]{43}; Path=/; Max-Age=1209600; HttpOnly; SameSite=Strict; Secure",
        answer.headers["set-cookie"],
    )
    assert "owner of this service" in page.text
    assert browser.get("/console").status_code == 303
    assert "name or the password is wrong" in accepted.text


@pytest.mark.parametrize(
    "address", ["memory.example.org", "javascript:alert(1)", "//memory.example.org"]
)
def test_invalid_public_url_stops_the_start(folder: Path, address: str) -> None:
    result = Cli(folder)("accounts list", PUBLIC_URL=address)

    assert result.returncode == 2
    assert "must start with http:// or https://" in result.stderr


def test_session_token_is_not_an_api_key(owner: Reader) -> None:
    """A browser session is no API key (specification.md#console-not-for-api)."""
    token = owner.cookies["session"]
    paths = [
        "/api/v7/feedback",
        "/api/v7/sysperm/audit",
        "/api/v7/memory/map?user_id=owner",
        "/api/v7/agent/memory",
        "/download/a.txt",
    ]

    assert [owner.get(path).status_code for path in paths] == [401] * 5
    headers = {"authorization": f"Bearer {token}"}
    assert owner.ask("GET", "/api/v7/feedback", headers=headers).status_code == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", ""])
@pytest.mark.parametrize(
    "path", [path for path, page in PAGES.items() if page.post and page.is_public]
)  # forms that need a session: test_frame.py
def test_cross_site_form_is_rejected(owner: Reader, context: Context, path: str, site: str) -> None:
    """Forms carry an anti-forgery token (specification.md#console-csrf)."""
    token, before = invite(context, "ada").reveal(), dict(owner.cookies)
    form = {"token": token, "name": "owner", "password": GOOD, "again": GOOD}
    form["form_token"] = owner.form_token
    answer = owner.ask("POST", path, data=form, headers={"sec-fetch-site": site})

    assert (answer.status_code, owner.cookies) == (403, before)
    assert "was not sent from a page of this service" in answer.text
    assert "owner of this service" in owner.get("/console").text


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": "http://127.0.0.1:1"}],
    ids=str,
)
def test_origin_is_checked_without_sec_fetch_site(browser: Reader, headers: dict[str, str]) -> None:
    form = {"name": "a", "password": "b"}
    refused, accepted = (
        browser.ask("POST", "/console/sign-in", data=form, headers=origin)
        for origin in (headers, {"Origin": ORIGIN})
    )

    assert "was not sent from a page" in refused.text
    assert "name or the password is wrong" in accepted.text


def test_sign_out_ends_the_session_on_the_server(owner: Reader) -> None:
    stolen = dict(owner.cookies)
    answer = owner.send("/console/sign-out", where="here")

    assert (answer.headers["location"], owner.cookies) == ("/console/sign-in", {})
    owner.cookies = stolen
    assert owner.get("/console").status_code == 303
    assert owner.send_as("0" * 64, "/console/sign-out").status_code == 401


def test_sign_out_everywhere_ends_all_sessions_of_the_account(
    owner: Reader, read_as: Callable[[str], Reader]
) -> None:
    phone, ada = read_as("owner"), read_as("ada")
    owner.send("/console/sign-out", where="everywhere")

    statuses = [one.get("/console").status_code for one in (owner, phone, ada)]
    assert statuses == [303, 303, 200]


def test_signing_in_again_replaces_the_session(owner: Reader) -> None:
    old = dict(owner.cookies)
    sign_in(owner, "owner", GOOD)

    assert owner.cookies != old
    assert owner.get("/console").status_code == 200
    owner.cookies = old
    assert owner.get("/console").status_code == 303


def test_invitation_link_signs_the_invited_user_in(owner: Reader) -> None:
    """The owner invites people with a link (specification.md#console-sign-in)."""
    page = owner.send("/console/service/invite", name="ada <b>")
    [token] = re.findall(rf"{ORIGIN}/console/password\?token=([\w-]+)", page.text)
    set_password(owner, token)
    text = owner.get("/console").text

    assert f'{SIGNED_IN} ada &lt;b&gt;">' in text
    assert "Invite" not in text


def test_invitations_can_be_created_on_the_command_line(browser: Reader, folder: Path) -> None:
    link = Cli(folder)("accounts invite ada").stdout.strip()
    set_password(browser, link.partition("=")[2])

    assert re.fullmatch(r"http://127\.0\.0\.1:8460/console/password\?token=[\w-]{43}", link)
    assert f"{SIGNED_IN} ada" in browser.get("/console").text


@pytest.mark.parametrize(
    ("password", "again", "message"),
    [
        ("short", "short", "12 to 200 characters"),
        (GOOD, GOOD.upper(), "passwords are different"),
        ("", "", "12 to"),
    ],
)
def test_invalid_password_is_reported_and_the_link_still_works(
    browser: Reader, context: Context, password: str, again: str, message: str
) -> None:
    token = invite(context, "ada").reveal()
    answer = set_password(browser, token, password, again)

    assert (answer.status_code, message in answer.text, browser.cookies) == (422, True, {})
    assert set_password(browser, token).status_code == 303


@pytest.mark.parametrize("token", ["", "x", "%00", "%ff", "'%22<script>"])
def test_invalid_link_returns_404(browser: Reader, token: str) -> None:
    answer = browser.get(f"/console/password?token={token}")

    assert (answer.status_code, "<script>" in answer.text) == (404, False)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("name=a&name=b&password=x", "application/x-www-form-urlencoded", 422),
        ("name=%ff&password=x", "application/x-www-form-urlencoded", 422),
        ("name=%00&password=x", "application/x-www-form-urlencoded", 422),
        ("&".join(f"f{n}=1" for n in range(50)), "application/x-www-form-urlencoded", 422),
        ("{}", "application/json", 415),
        ("", "text/plain", 415),
        ("a" * 20_000, "application/x-www-form-urlencoded", 413),
    ],
)
def test_invalid_form_is_rejected(browser: Reader, body: str, kind: str, status: int) -> None:
    headers = {"content-type": kind, "sec-fetch-site": "same-origin"}
    answer = browser.ask("POST", "/console/sign-in", content=body, headers=headers)

    assert answer.status_code == status


def test_public_pages_have_a_strict_policy_and_are_not_cached(
    browser: Reader, context: Context
) -> None:
    """A strict policy for every page (specification.md#console-csp)."""
    link = f"/console/password?token={invite(context, 'ada').reveal()}"
    for path in ("/console/sign-in", link, "/console/password?token=x"):
        answer = browser.get(path)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert inline_code(answer.text) == []
