"""One request of a browser: whose it is, that it comes from a page of ours, and what was typed into the form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...accounts import sessions
from ...accounts.sessions import SignedIn
from ...context import Context
from ...protocol.errors import Forbidden, InvalidRequest, Unauthorized, UnsupportedMediaType
from .. import pages

FORM_BYTES_MAX = 16_384
_FIELDS_MAX = 20
_CSP = pages.CSP.replace("form-action 'none'", "form-action 'self'")


class ForeignForm(Forbidden):
    """This form was not sent from a page of this service. Open the page again and send it from there."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """A request for a page, and who makes it."""

    context: Context
    request: Request
    form: dict[str, str] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """The address people reach the service at."""
        return self.context.settings.public_url.rstrip("/") or pages.base_url(self.request)

    @property
    def cookie(self) -> str:
        """The name of the cookie. A browser takes `__Host-` only over TLS, for this host alone, and from nobody else."""
        return "__Host-session" if self.base.startswith("https:") else "session"

    @property
    def token(self) -> str:
        """What the cookie holds; empty without one."""
        return self.request.cookies.get(self.cookie, "")

    def signed_in(self) -> SignedIn | None:
        """Whose browser it is; None when nobody is signed in. Raises StoreUnavailable."""
        return sessions.signed_in(self.context, self.token) if self.token else None

    def session(self) -> SignedIn:
        """Whose form it is. Raises Unauthorized when nobody is signed in, ForeignForm when the form was not made for this session."""
        found = self.signed_in()
        if found is None:
            raise Unauthorized("Nobody is signed in here any more. Sign in again.")
        if not sessions.is_form_of(found, self.form.get("form_token", "")):
            raise ForeignForm
        return found

    def page(self, template: str, *, status: int = 200, **values: object) -> Response:
        """A page of the console."""
        answer = pages.page(f"console/{template}", self.request, **values)
        answer.status_code = status
        answer.headers["Content-Security-Policy"] = _CSP
        answer.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        return answer

    def go(self, path: str, *, token: str | None = None) -> Response:
        """Send the browser on; with `token`, signed in, or out when it is empty."""
        answer = RedirectResponse(path, 303)
        if token is not None:
            lasts_s = sessions.LASTS_MS // 1000 if token else 0
            secure = "; Secure" if self.cookie.startswith("__Host-") else ""
            answer.headers["Set-Cookie"] = f"{self.cookie}={token}; Path=/; Max-Age={lasts_s}; HttpOnly; SameSite=Strict{secure}"
        return answer


Handle = Callable[[Visit], Response]


def check_is_ours(visit: Visit) -> None:
    """Raises ForeignForm unless the browser says that the form stands on a page of this service. Each browser says so of each form."""
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
    """The fields of a form. Raises UnsupportedMediaType, and InvalidRequest for what is not text or given twice."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType("This is not a form.")
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise InvalidRequest("The form cannot be read.") from None
    if len(dict(pairs)) != len(pairs) or any("\0" in value for _, value in pairs):
        raise InvalidRequest("A field is given twice, or holds what is not text.")
    return dict(pairs)
