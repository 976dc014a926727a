"""One request of a browser:

whose it is, that it comes from a page of ours, and what was typed into the form.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..accounts import NO_KEY
from ..accounts import browser_sessions as sessions
from ..accounts.browser_sessions import BrowserSession
from ..context import Caller, Context
from ..http import pages
from ..http.dispatch import Dispatcher
from ..http.endpoint import ThreadPool
from ..protocol.errors import Forbidden, InvalidRequest, Unauthorized, UnsupportedMediaType
from . import layout as frame

FORM_BYTES_MAX = 16_384
_FIELDS_MAX = 40
_THEME_SECONDS = 400 * 86_400  # as long as browsers keep any
_TOLD_SECONDS = 60
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class ForeignForm(Forbidden):
    """This form was not sent from a page of this service. Open the page again and send it from
    there.
    """


class SignInFirst(Exception):
    """Nobody is signed in; who is, comes back to the page."""


@dataclass(slots=True, kw_only=True)
class BrowserRequest:
    """A request for a page, and who makes it."""

    dispatcher: Dispatcher
    request: Request
    there: Container[str] = ()  # the paths of all pages
    form: dict[str, str] = field(default_factory=dict)
    _who: BrowserSession | None = None

    @property
    def context(self) -> Context:
        """The parts the program works with."""
        return self.dispatcher.context

    @property
    def base(self) -> str:
        """The address people reach the service at."""
        return self.context.settings.public_url.rstrip("/") or pages.base_url(self.request)

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return self._cookie("session")

    @property
    def token(self) -> str:
        """What the session's cookie holds; empty without one."""
        return self.request.cookies.get(self.cookie, "")

    @property
    def is_swap(self) -> bool:
        """Whether a script of the page asks for a part to put into it; a browser going back asks
        for the whole.
        """
        headers = self.request.headers
        return (
            headers.get("hx-request") == "true"
            and headers.get("hx-history-restore-request") != "true"
        )

    def signed_in(self) -> BrowserSession | None:
        """Whose browser it is; None when nobody is signed in. Raises StoreUnavailable."""
        if self._who is None and self.token:
            self._who = sessions.find_session(self.context, self.token)
        return self._who

    def entered(self) -> BrowserSession:
        """Whose page it is.

        Raises SignInFirst when nobody is signed in, which leads to the form and back here.
        """
        found = self.signed_in()
        if found is None:
            raise SignInFirst
        return found

    def session(self) -> BrowserSession:
        """Whose form it is.

        Raises Unauthorized when nobody is signed in, ForeignForm when the form was not made for
        this session.
        """
        found = self.signed_in()
        if found is None:
            raise Unauthorized("Nobody is signed in here any more. Sign in again.")
        if not sessions.is_form_of(found, self.form.get("form_token", "")):
            raise ForeignForm
        return found

    def caller(self) -> Caller:
        """The account that is signed in, as the rooms' functions take it.

        Raises as `entered`, for a form as `session`.
        """
        who = self.session() if self.request.method == "POST" else self.entered()
        return Caller(
            account_id=who.account_id,
            account_name=who.account_name,
            is_owner=who.is_owner,
            key_id=NO_KEY,
        )

    def page(self, template: str, *, status: int = 200, **values: object) -> Response:
        """A page of the console; `who` is the one who is signed in, where nobody else is given."""
        who = values["who"] = values["who"] if "who" in values else self.signed_in()
        told = frame.unseal(self.request.cookies.get(self._cookie("told"), ""), self.token)
        is_owner = isinstance(who, BrowserSession) and who.is_owner
        answer = self._rendered(
            template,
            status,
            told=told,
            groups=frame.sections(self.there, is_owner=is_owner),
            **values,
        )
        if self._cookie("told") in self.request.cookies:
            self._set_cookie(answer, "told", "", seconds=0)
        return answer

    def fragment(self, template: str, *, status: int = 200, **values: object) -> Response:
        """A part of a page alone, as a script puts it in."""
        values["who"] = values["who"] if "who" in values else self.signed_in()
        return self._rendered(template, status, **values)

    def go(self, path: str, *, token: str | None = None, told: str = "") -> Response:
        """Send the browser on; the next page says what is `told`.

        With `token`, signed in, or out when it is empty.
        """
        answer = RedirectResponse(path, 303)
        if token is not None:
            self._set_cookie(
                answer, "session", token, seconds=sessions.LIFETIME_MS // 1000 if token else 0
            )
        if told:
            self._set_cookie(
                answer, "told", frame.seal(told, token or self.token), seconds=_TOLD_SECONDS
            )
        return answer

    def keep_theme(self, answer: Response, theme: str) -> None:
        """Have the browser keep which theme its reader wants; anything but one of `pages.THEMES`
        means the system's.
        """
        chosen = theme if theme in pages.THEMES else ""
        self._set_cookie(
            answer, "theme", chosen, seconds=_THEME_SECONDS if chosen else 0, for_host=False
        )

    def _rendered(self, template: str, status: int, **values: object) -> Response:
        here = self.request.url
        back = frame.section_context(
            here.path + (f"?{here.query}" if here.query else ""), "/console"
        )
        answer = pages.page(
            f"console/{template}",
            self.request,
            here=frame.section_of(here.path),
            there=self.there,
            back=back,
            **values,
        )
        answer.status_code = status
        answer.headers["Content-Security-Policy"] = _CSP
        answer.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        answer.headers["Vary"] = "HX-Request"
        return answer

    def _cookie(self, name: str) -> str:
        # a browser takes `__Host-` only over TLS, for this host alone, and from nobody else
        return f"__Host-{name}" if self.base.startswith("https:") else name

    def _set_cookie(
        self, answer: Response, name: str, value: str, *, seconds: int, for_host: bool = True
    ) -> None:
        full = self._cookie(name) if for_host else name
        secure = "; Secure" if self.base.startswith("https:") else ""
        answer.headers.append(
            "Set-Cookie",
            f"{full}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
        )


Handle = Callable[[BrowserRequest], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One path of the console:

    what shows it, what takes its form, and what has to be seen to before.
    """

    get: Handle | None = None
    post: Handle | None = None
    where: ThreadPool = ThreadPool.WRITE  # the threads that work for it
    form_bytes_max: int = FORM_BYTES_MAX
    guessed: bool = False  # a form that somebody could try many of
    anybody: bool = (
        False  # also for who is not signed in; everywhere else that is seen to before the handle
    )
    owner_only: bool = False
    gives_file: bool = False  # to be kept by the reader, not looked at

    @property
    def methods(self) -> list[str]:
        """The methods it takes.

        Who asks for a form's own path, as a browser does after its answer, is sent to the page of
        the form.
        """
        return ["GET", "HEAD"] + (["POST"] if self.post else [])


def check_is_ours(visit: BrowserRequest) -> None:
    """Raises ForeignForm unless the browser says that the form stands on a page of this service.

    Each browser says so of each form.
    """
    headers = visit.request.headers
    site = headers.get("sec-fetch-site")
    if site is not None:
        if site != "same-origin":
            raise ForeignForm
        return
    origin = urlsplit(headers.get("origin", ""))
    if not origin.netloc or origin.netloc not in {headers.get("host"), urlsplit(visit.base).netloc}:
        raise ForeignForm


def read_form(request: Request, raw: bytes) -> dict[str, str]:
    """The fields of a form.

    Raises UnsupportedMediaType, and InvalidRequest for what is not text or given twice.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType("This is not a form.")
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX
        )
    except ValueError:
        raise InvalidRequest("The form cannot be read.") from None
    if len(dict(pairs)) != len(pairs) or any("\0" in value for _, value in pairs):
        raise InvalidRequest("A field is given twice, or holds what is not text.")
    return dict(pairs)
