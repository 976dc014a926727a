"""Signing in over a real socket, as a browser and as an attacker."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest
from command import Cli
from console.test_frame import POLICY, inline_code
from service import serving

from remembrancer.accounts.sign_in import invite
from remembrancer.console.routes import PAGES
from remembrancer.context import Context
from remembrancer.server.app import make_app
from remembrancer.server.run import welcome

GOOD = "correct horse battery"


@dataclass
class Answer:
    """A response of the server."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Browser:
    """A browser that keeps its cookie and sends forms with `Sec-Fetch-Site`."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        request = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            request["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request(method, path, body, request)
        result = connection.getresponse()
        answer = Answer(
            result.status,
            {name.lower(): value for name, value in result.getheaders()},
            result.read().decode(),
        )
        connection.close()
        if cookie := answer.headers.get("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies = {name: value} if value else {}
        return answer

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def send(self, path: str, site: str = "same-origin", **form: str) -> Answer:
        """Send a form as a browser does."""
        return self.ask(
            "POST",
            path,
            urlencode(form),
            Content_Type="application/x-www-form-urlencoded",
            Sec_Fetch_Site=site,
        )

    def form_token(self) -> str:
        """Return the form token of the overview page."""
        tokens: list[str] = re.findall(
            r'name="form_token" value="([0-9a-f]{64})"', self.get("/console").text
        )
        return tokens[0]


@pytest.fixture
def port(context: Context) -> Iterator[int]:
    """The port of a real server."""
    with serving(make_app(context)) as listening_port:
        yield listening_port


@pytest.fixture
def browser(port: int) -> Browser:
    """A browser that is not signed in."""
    return Browser(port)


@pytest.fixture
def owner(port: int, context: Context) -> Browser:
    """A browser that is signed in as the owner."""
    return accept_invitation(port, invite(context, "owner").reveal())


def accept_invitation(port: int, token: str) -> Browser:
    """Set the password GOOD through an invitation; return the signed-in browser."""
    result = Browser(port)
    answer = result.send("/console/password", token=token, password=GOOD, again=GOOD)
    assert (answer.status, answer.headers["location"]) == (303, "/console")
    return result


def test_welcome_prints_a_link_that_sets_the_owners_password_once(
    context: Context, browser: Browser
) -> None:
    """The first start prints the owner's link once (specification.md#console-sign-in)."""
    text = welcome(context, f"http://127.0.0.1:{browser.port}")
    [path] = re.findall(r"http://127\.0\.0\.1:\d+(/console/password\?token=\S+)", text)
    page = browser.get(path)
    browser.send("/console/password", token=path.partition("=")[2], password=GOOD, again=GOOD)

    assert "Set the password of owner" in page.text
    assert "owner of this service" in browser.get("/console").text
    assert browser.get(path).status == 404
    assert "/console/password" not in welcome(context, "http://127.0.0.1:1")


def test_name_and_password_sign_in(owner: Browser, browser: Browser) -> None:
    assert browser.get("/console").headers["location"] == "/console/sign-in"

    answer = browser.send("/console/sign-in", name="owner", password=GOOD)

    assert (answer.status, answer.headers["location"]) == (303, "/console")
    assert (
        '<span class="name" title="Signed in as owner, an owner of this service">'
        in browser.get("/console").text
    )
    assert browser.get("/console/sign-in").headers["location"] == "/console"


@pytest.mark.parametrize(
    ("name", "password"),
    [("owner", "wrong horse battery"), ("nobody", GOOD), ("", ""), ("owner", "x" * 5000)],
)
def test_wrong_name_and_wrong_password_get_the_same_answer(
    owner: Browser, browser: Browser, name: str, password: str
) -> None:
    answer = browser.send("/console/sign-in", name=name, password=password)

    assert (answer.status, browser.cookies) == (403, {})
    assert "The name or the password is wrong." in answer.text
    assert password not in answer.text or not password


def test_repeated_failures_lock_the_name(owner: Browser, browser: Browser) -> None:
    """Failed sign-ins lock a name (specification.md#console-lockout)."""
    answers = [
        browser.send("/console/sign-in", name="owner", password=GOOD.upper()) for _ in range(6)
    ]

    assert [answer.status for answer in answers] == [403] * 5 + [429]
    assert answers[-1].headers["retry-after"] == "30"
    assert "owner of this service" in owner.get("/console").text


@pytest.mark.settings(rate_sign_in_per_minute=5)
def test_sign_in_attempts_per_address_are_limited(browser: Browser) -> None:
    """They are limited to 5 per minute and address (specification.md#rate-defaults)."""
    answers = [browser.send("/console/sign-in", name=f"n{n}", password=GOOD) for n in range(6)]

    assert [answer.status for answer in answers] == [403] * 5 + [429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60


def test_session_cookie_is_http_only_and_same_site(browser: Browser, context: Context) -> None:
    """The session is an `HttpOnly` cookie (specification.md#console-session-cookie)."""
    token = invite(context, "owner").reveal()
    answer = browser.send("/console/password", token=token, password=GOOD, again=GOOD)

    assert re.fullmatch(
        r"session=[\w-]{43}; Path=/; Max-Age=1209600; HttpOnly; SameSite=Strict",
        answer.headers["set-cookie"],
    )


@pytest.mark.settings(public_url="https://memory.example.org/", rate_sign_in_per_minute=0)
def test_service_behind_tls_uses_its_public_url(browser: Browser, context: Context) -> None:
    """With HTTPS the cookie has the prefix `__Host-` (specification.md#console-session-cookie)."""
    token = invite(context, "owner").reveal()
    answer = browser.send("/console/password", token=token, password=GOOD, again=GOOD)
    without_prefix = Browser(browser.port, {"session": browser.cookies["__Host-session"]})
    form = {
        "Content_Type": "application/x-www-form-urlencoded",
        "Origin": "https://memory.example.org",
    }
    accepted = Browser(browser.port).ask("POST", "/console/sign-in", "name=a&password=b", **form)

    assert re.fullmatch(
        r"__Host-session=[\w-]{43}; Path=/; Max-Age=1209600; HttpOnly; SameSite=Strict; Secure",
        answer.headers["set-cookie"],
    )
    assert "owner of this service" in browser.get("/console").text
    assert without_prefix.get("/console").status == 303
    assert "name or the password is wrong" in accepted.text


@pytest.mark.parametrize(
    "address", ["memory.example.org", "javascript:alert(1)", "//memory.example.org"]
)
def test_invalid_public_url_stops_the_start(folder: Path, address: str) -> None:
    result = Cli(folder)("accounts list", PUBLIC_URL=address)

    assert result.returncode == 2
    assert "must start with http:// or https://" in result.stderr


def test_session_token_is_not_an_api_key(owner: Browser) -> None:
    """A browser session is no API key (specification.md#console-not-for-api)."""
    [token] = owner.cookies.values()
    paths = [
        "/api/v7/feedback",
        "/api/v7/sysperm/audit",
        "/api/v7/memory/map?user_id=owner",
        "/api/v7/agent/memory",
        "/download/a.txt",
    ]

    assert [owner.get(path).status for path in paths] == [401] * 5
    assert owner.ask("GET", "/api/v7/feedback", Authorization=f"Bearer {token}").status == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", ""])
@pytest.mark.parametrize(
    "path", [path for path, page in PAGES.items() if page.post and page.is_public]
)  # forms that need a session: test_frame.py
def test_cross_site_form_is_rejected(
    owner: Browser, context: Context, path: str, site: str
) -> None:
    """Forms carry an anti-forgery token (specification.md#console-csrf)."""
    form_token, token = owner.form_token(), invite(context, "ada").reveal()
    before = dict(owner.cookies)
    answer = owner.send(
        path, site, form_token=form_token, token=token, name="owner", password=GOOD, again=GOOD
    )

    assert (answer.status, owner.cookies) == (403, before)
    assert "was not sent from a page of this service" in answer.text
    assert "owner of this service" in owner.get("/console").text


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": "http://127.0.0.1:1"}],
    ids=str,
)
def test_origin_is_checked_without_sec_fetch_site(
    browser: Browser, headers: dict[str, str]
) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    ours = {"Origin": f"http://127.0.0.1:{browser.port}"}
    refused, accepted = (
        browser.ask("POST", "/console/sign-in", "name=a&password=b", **form, **origin)
        for origin in (headers, ours)
    )

    assert "was not sent from a page" in refused.text
    assert "name or the password is wrong" in accepted.text


def test_sign_out_ends_the_session_on_the_server(owner: Browser) -> None:
    stolen = Browser(owner.port, dict(owner.cookies))
    answer = owner.send("/console/sign-out", form_token=owner.form_token(), where="here")

    assert (answer.headers["location"], owner.cookies) == ("/console/sign-in", {})
    assert stolen.get("/console").status == 303
    assert stolen.send("/console/sign-out", form_token="0" * 64).status == 401


def test_sign_out_everywhere_ends_all_sessions_of_the_account(
    owner: Browser, context: Context
) -> None:
    """Signing out everywhere ends every session of the account."""
    phone = Browser(owner.port)
    phone.send("/console/sign-in", name="owner", password=GOOD)
    ada = accept_invitation(owner.port, invite(context, "ada").reveal())
    owner.send("/console/sign-out", form_token=owner.form_token(), where="everywhere")

    assert [browser.get("/console").status for browser in (owner, phone, ada)] == [303, 303, 200]


def test_signing_in_again_replaces_the_session(owner: Browser) -> None:
    old = Browser(owner.port, dict(owner.cookies))
    owner.send("/console/sign-in", name="owner", password=GOOD)

    assert owner.cookies != old.cookies
    assert (owner.get("/console").status, old.get("/console").status) == (200, 303)


def test_invitation_link_signs_the_invited_user_in(owner: Browser) -> None:
    """The owner invites people with a link (specification.md#console-sign-in)."""
    page = owner.send("/console/service/invite", form_token=owner.form_token(), name="ada <b>")
    [token] = re.findall(
        rf"http://127\.0\.0\.1:{owner.port}/console/password\?token=([\w-]+)", page.text
    )
    text = accept_invitation(owner.port, token).get("/console").text

    assert '<span class="name" title="Signed in as ada &lt;b&gt;">' in text
    assert "Invite" not in text


def test_invitations_can_be_created_on_the_command_line(browser: Browser, folder: Path) -> None:
    link = Cli(folder)("accounts invite ada").stdout.strip()
    ada = accept_invitation(browser.port, link.partition("=")[2])

    assert re.fullmatch(r"http://127\.0\.0\.1:8460/console/password\?token=[\w-]{43}", link)
    assert '<span class="name" title="Signed in as ada' in ada.get("/console").text


@pytest.mark.parametrize(
    ("password", "again", "message"),
    [
        ("short", "short", "12 to 200 characters"),
        (GOOD, GOOD.upper(), "passwords are different"),
        ("", "", "12 to"),
    ],
)
def test_invalid_password_is_reported_and_the_link_still_works(
    browser: Browser, context: Context, password: str, again: str, message: str
) -> None:
    token = invite(context, "ada").reveal()
    answer = browser.send("/console/password", token=token, password=password, again=again)

    assert (answer.status, message in answer.text, browser.cookies) == (422, True, {})
    assert accept_invitation(browser.port, token).get("/console").status == 200


@pytest.mark.parametrize("token", ["", "x", "%00", "%ff", "'%22<script>"])
def test_invalid_link_returns_404(browser: Browser, token: str) -> None:
    answer = browser.get(f"/console/password?token={token}")

    assert (answer.status, "<script>" in answer.text) == (404, False)


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
def test_invalid_form_is_rejected(browser: Browser, body: str, kind: str, status: int) -> None:
    headers = {"Content_Type": kind, "Sec_Fetch_Site": "same-origin"}

    assert browser.ask("POST", "/console/sign-in", body, **headers).status == status


def test_public_pages_have_a_strict_policy_and_are_not_cached(
    browser: Browser, context: Context
) -> None:
    """A strict policy for every page (specification.md#console-csp)."""
    link = f"/console/password?token={invite(context, 'ada').reveal()}"
    for path in ("/console/sign-in", link, "/console/password?token=x"):
        answer = browser.get(path)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert inline_code(answer.text) == []
