"""Requests from browsers: session cookie, form token, same-origin check, fields, step-up."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..accounts import NO_KEY
from ..accounts import sign_in as sessions
from ..accounts.sign_in import BrowserSession, SignInRefused, SignInTooOften
from ..context import Caller, Context
from ..http import pages
from ..http.dispatch import Dispatcher, ThreadPool
from ..protocol.errors import Forbidden, InvalidRequest, Problem, Unauthorized, UnsupportedMediaType
from ..sandbox.runner import Cancellation
from . import layout

# --- Requests from browsers: session cookie, form token, same-origin check, form fields ------

FORM_BYTES_MAX = 16_384
_FIELDS_MAX = 40
_THEME_SECONDS = 400 * 86_400  # the longest lifetime that browsers allow
_NOTICE_SECONDS = 60
# Parameters of a page that an export of its table leaves out: the export has all pages.
_NOT_EXPORTED = frozenset(
    {"table", "format", "behind", "below", "before_id", "until", "verify", "event_id", "fact_id"}
)
_BOUNDARY = re.compile(r"boundary=(?:\"([^\"]{1,200})\"|([\x21-\x7e]{1,200}))", re.IGNORECASE)
_PART_NAME = re.compile(rb'[;\s]name="([^"]{0,200})"', re.IGNORECASE)
_PART_FILE = re.compile(rb'filename="([^"\r\n]{0,1000})"', re.IGNORECASE)
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def _markdown(text: str | None) -> Markup:
    from .markdown import markdown  # imported here: a start does not need the parser

    return markdown(text)


class ForeignForm(Forbidden):
    """This form was not sent from a page of this service. Reload the page and send it again."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a form. `name` is a label from the browser, never a path."""

    name: str
    content: bytes


class SignInRequired(Exception):
    """Sign-in required; return to this page afterwards."""


@dataclass(slots=True, kw_only=True)
class BrowserRequest:
    """One request for a console page, with the session of its browser."""

    dispatcher: Dispatcher
    request: Request
    page_paths: Container[str] = ()  # of the whole console
    form: dict[str, str] = field(default_factory=dict)
    upload: Upload | None = None  # the file of a form of a page that takes one
    cancellation: Cancellation | None = None  # of the request's programs, if it may run any
    _session: BrowserSession | None = None
    _users: layout.UserChoice | None = None

    @property
    def context(self) -> Context:
        """The context of the service."""
        return self.dispatcher.context

    @property
    def base_url(self) -> str:
        """The public address of the service, without a trailing slash."""
        return self.context.settings.public_url.rstrip("/") or pages.base_url(self.request)

    @property
    def cookie(self) -> str:
        """The name of the session cookie."""
        return self._cookie("session")

    @property
    def token(self) -> str:
        """The value of the session cookie. Empty if there is none."""
        return self.request.cookies.get(self.cookie, "")

    @property
    def wants_fragment(self) -> bool:
        """Return True if htmx requests a fragment; a history restore needs the whole page."""
        headers = self.request.headers
        return (
            headers.get("hx-request") == "true"
            and headers.get("hx-history-restore-request") != "true"
        )

    def find_session(self) -> BrowserSession | None:
        """Return the browser's session, or None if nobody is signed in.

        Raises StoreUnavailable.
        """
        if self._session is None and self.token:
            self._session = sessions.find_session(self.context, self.token)
        return self._session

    def require_session(self) -> BrowserSession:
        """Return the browser's session. Raises SignInRequired if nobody is signed in."""
        session = self.find_session()
        if session is None:
            raise SignInRequired
        return session

    def form_session(self) -> BrowserSession:
        """Return the session that sent this form.

        Raises Unauthorized if nobody is signed in, ForeignForm if the form token does not belong
        to this session.
        """
        session = self.find_session()
        if session is None:
            raise Unauthorized("You are no longer signed in. Sign in again.")
        if not sessions.is_form_of(session, self.form.get("form_token", "")):
            raise ForeignForm
        return session

    @property
    def arguments(self) -> tuple[Context, Caller]:
        """The first arguments of every action: context and caller. Raises SignInRequired."""
        return self.context, self.caller()

    def caller(self) -> Caller:
        """Return the signed-in account as the caller of an action.

        Raises what `form_session` raises for a form and what `require_session` raises otherwise.
        """
        is_form = self.request.method == "POST"
        session = self.form_session() if is_form else self.require_session()
        self.dispatcher.erase_due(session.account_id)
        return Caller(
            account_id=session.account_id,
            account_name=session.account_name,
            is_owner=session.is_owner,
            key_id=NO_KEY,
        )

    @property
    def users(self) -> layout.UserChoice:
        """Users to choose from, and the one whose memory the pages show.

        `user_id` of the request chooses one; the browser keeps the choice for the session. Raises
        like `caller`, and InvalidRequest.
        """
        if self._users is None:
            last = layout.unseal(self.request.cookies.get(self._cookie("user"), ""), self.token)
            values = self.form or self.request.query_params
            self._users = layout.users(*self.arguments, values, last)
        return self._users

    def _offered_users(self) -> layout.UserChoice:
        try:
            return self.users
        except InvalidRequest:  # a field of another meaning, which its own form rejects
            return layout.users(*self.arguments, {})

    def page(
        self, template: str, *, status: int = 200, problem: Problem | None = None, **values: object
    ) -> Response:
        """Render a page. `session` defaults to the session of this browser.

        `problem` gives the status, and the time to wait.
        """
        if "session" not in values:
            values["session"] = self.find_session()
            if values["session"]:
                values["users"] = self._offered_users()
        session = values["session"]
        notice = layout.unseal(self.request.cookies.get(self._cookie("notice"), ""), self.token)
        is_owner = isinstance(session, BrowserSession) and session.is_owner
        response = self._render(
            template,
            status,
            problem,
            notice=notice,
            menu=layout.sections(self.page_paths, is_owner=is_owner),
            **values,
        )
        if self._cookie("notice") in self.request.cookies:
            self._set_cookie(response, "notice", "", seconds=0)
        if self._users and "user_id" in self.request.query_params:
            cookie = layout.seal(self._users.chosen, self.token)
            self._set_cookie(response, "user", cookie, seconds=sessions.LIFETIME_MS // 1000)
        return response

    def fragment(
        self, template: str, *, status: int = 200, problem: Problem | None = None, **values: object
    ) -> Response:
        """Render a part of a page, for htmx to swap in."""
        if "session" not in values:
            values["session"] = self.find_session()
        return self._render(template, status, problem, **values)

    def redirect(self, path: str, *, token: str | None = None, notice: str = "") -> Response:
        """Redirect to a page, which then shows `notice`.

        `token` sets the session cookie; an empty token signs out.
        """
        response = RedirectResponse(path, 303)
        if token is not None:
            seconds = sessions.LIFETIME_MS // 1000 if token else 0
            self._set_cookie(response, "session", token, seconds=seconds)
        if notice:
            value = layout.seal(notice, token or self.token)
            self._set_cookie(response, "notice", value, seconds=_NOTICE_SECONDS)
        return response

    def set_theme_cookie(self, response: Response, theme: str) -> None:
        """Store the theme in a cookie. Anything but one of `pages.THEMES` means the system's."""
        value = theme if theme in pages.THEMES else ""
        seconds = _THEME_SECONDS if value else 0
        self._set_cookie(response, "theme", value, seconds=seconds, for_host=False)

    def _render(
        self, template: str, status: int, problem: Problem | None, **values: object
    ) -> Response:
        url = self.request.url
        back = layout.local_path(url.path + (f"?{url.query}" if url.query else ""), "/console")
        response = pages.page(
            f"console/{template}",
            self.request,
            section_path=layout.section_of(url.path),
            page_paths=self.page_paths,
            back=back,
            now_ms=self.context.clock(),
            markdown=_markdown,
            export_query=urlencode(
                [pair for pair in parse_qsl(url.query) if pair[0] not in _NOT_EXPORTED]
            ),
            **values,
        )
        response.status_code = problem.status if problem else status
        if problem and "retry_after" in problem.extra:
            response.headers["Retry-After"] = str(problem.extra["retry_after"])
        response.headers["Content-Security-Policy"] = _CSP
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Vary"] = "HX-Request"
        return response

    def _cookie(self, name: str) -> str:
        # Browsers accept `__Host-` cookies only over TLS and only for this host.
        return f"__Host-{name}" if self.base_url.startswith("https:") else name

    def _set_cookie(
        self, response: Response, name: str, value: str, *, seconds: int, for_host: bool = True
    ) -> None:
        full_name = self._cookie(name) if for_host else name
        secure = "; Secure" if self.base_url.startswith("https:") else ""
        response.headers.append(
            "Set-Cookie",
            f"{full_name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
        )


Handle = Callable[[BrowserRequest], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One path of the console: its handlers and the checks that run before them."""

    get: Handle | None = None
    post: Handle | None = None
    pool: ThreadPool = ThreadPool.WRITE
    form_bytes_max: int = FORM_BYTES_MAX
    takes_file: bool = False  # its form is multipart/form-data
    is_rate_limited: bool = False  # a form that takes a password or a token
    is_public: bool = False  # needs no session
    owner_only: bool = False
    is_download: bool = False

    @property
    def methods(self) -> list[str]:
        """The HTTP methods of the path. GET on the path of a form redirects to its page."""
        return ["GET", "HEAD"] + (["POST"] if self.post else [])


def check_same_origin(browser: BrowserRequest) -> None:
    """Raise ForeignForm unless Sec-Fetch-Site or Origin shows that the form is from this service.

    Browsers send at least one of the two headers with every form.
    """
    headers = browser.request.headers
    site = headers.get("sec-fetch-site")
    if site is not None:
        if site != "same-origin":
            raise ForeignForm
        return
    origin = pages.origin_of(headers)
    if not origin.netloc or origin.netloc not in {
        headers.get("host"),
        urlsplit(browser.base_url).netloc,
    }:
        raise ForeignForm


def is_multipart(request: Request) -> bool:
    """Return True for a form that is sent with files."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


def read_multipart(request: Request, raw: bytes) -> tuple[dict[str, str], Upload | None]:
    """Return the fields of a form with a file, and the file; None if none was chosen.

    Raises UnsupportedMediaType, and InvalidRequest for repeated fields and invalid text.
    """
    boundary = _BOUNDARY.search(request.headers.get("content-type", ""))
    if boundary is None:
        raise UnsupportedMediaType("The content type multipart/form-data needs a boundary.")
    fields: dict[str, str] = {}
    upload = None
    parts = (b"\r\n" + raw).split(b"\r\n--" + (boundary[1] or boundary[2]).encode())
    if len(parts) > _FIELDS_MAX:
        raise InvalidRequest("The form has too many fields.")
    for part in parts[1:-1]:
        head, is_whole, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        label = _PART_NAME.search(head)
        if not is_whole or label is None:
            raise InvalidRequest("The form could not be parsed.")
        name, filename = label[1].decode("utf-8", "replace"), _PART_FILE.search(head)
        if filename is not None:
            if filename[1] or content:
                upload = Upload(filename[1].decode("utf-8", "replace"), content)
            continue
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise InvalidRequest("The form could not be parsed.") from None
        if name in fields or "\0" in text:
            raise InvalidRequest("A field is repeated or contains a NUL character.")
        fields[name] = text
    return fields, upload


def read_form(request: Request, raw: bytes) -> dict[str, str]:
    """Return the fields of a form.

    Raises UnsupportedMediaType, and InvalidRequest for repeated fields and invalid text.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType("The content type must be application/x-www-form-urlencoded.")
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX
        )
    except ValueError:
        raise InvalidRequest("The form could not be parsed.") from None
    if len(dict(pairs)) != len(pairs) or any("\0" in value for _, value in pairs):
        raise InvalidRequest("A field is repeated or contains a NUL character.")
    return dict(pairs)


# --- Step-up authentication: sensitive forms ask for the password again ----------------------

MISSING = "Enter your password. It was last entered more than five minutes ago."
WRONG = "This is not the password of your account."


def password_error(browser: BrowserRequest) -> str:
    """Return an error message unless the form has the password or it was entered recently.

    Wrong passwords delay further ones, sign-ins aside. Raises Unauthorized, ForeignForm,
    StoreUnavailable.
    """
    session = browser.form_session()
    if session.is_confirmed:
        return ""
    password = browser.form.get("password", "")
    if not password:
        return MISSING
    try:
        sessions.confirm(browser.context, session, browser.token, password)
    except SignInRefused:
        return WRONG
    except SignInTooOften as error:
        return f"{error.detail} Try again in {error.extra['retry_after']} seconds."
    return ""
