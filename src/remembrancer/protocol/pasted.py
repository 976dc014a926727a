"""Texts that are not to be stored: API keys and passwords pasted by mistake, and private parts.

Keys are those of ours and of common providers, recognised by their shape: a small set for clients,
which must check before sending anything. The service checks again with a full detector.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_KINDS = {  # each starts with letters that are rare in text, so one pass finds all
    "remembrancer": r"sk_[0-9a-fA-F]{16,}",
    "openai or anthropic": r"sk-[A-Za-z0-9_-]{20,}",
    "stripe": r"[sr]k_(?:live|test)_[0-9A-Za-z]{16,}",
    "github": r"gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{40,}",
    "gitlab": r"glpat-[0-9A-Za-z_-]{20,}",
    "aws": r"A(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Za-z])",
    "google": r"AIza[0-9A-Za-z_-]{35}",
    "slack": r"xox[abeoprs]-[0-9A-Za-z-]{10,}",
    "hugging face": r"hf_[0-9A-Za-z]{30,}",
    "groq": r"gsk_[0-9A-Za-z]{40,}",
    "xai": r"xai-[0-9A-Za-z]{40,}",
    "npm": r"npm_[0-9A-Za-z]{36}",
    "pypi": r"pypi-AgEI[0-9A-Za-z_-]{50,}",
    "private key": r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY-----",
}
_ANY = re.compile(
    "(?<![0-9A-Za-z])(?:"
    + "|".join(f"(?P<k{n}>{shape})" for n, shape in enumerate(_KINDS.values()))
    + ")+"  # several without a space are one: what is left of a text then has no key
)
_NAMES = {f"k{n}": kind for n, kind in enumerate(_KINDS)}

REMOVED = "[a key was removed]"

# A password has a digit or a sign, or stands in quotes: `password=form_password` is code.
_VALUE = r"[^\s\"'`,;<>${}()\[\]]"
_PASSWORD = re.compile(
    r"(?P<name>(?:(?:pass(?:word|wd|phrase)|pwd|passwort|kennwort|mot de passe|contraseña"
    r"|парол[ья]|密码)[\"']?(?:[ ]{0,3}[:=：][ ]{0,3}|[ ](?:is|ist|est|es|è)[ ]:?[ ]?|是)"
    r"|secret[\"']?[ ]{0,3}[:=][ ]{0,3})[\"'`]?)"
    rf"(?:(?<=[\"'`])[^\s\"'`${{}}<>]{{6,200}}(?=[\"'`])"
    rf"|(?={_VALUE}{{0,60}}[0-9@#%^&*+~])(?!https?:){_VALUE}{{6,200}})",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(
    r"(?P<name>[a-z][a-z0-9+.-]{1,30}://[^\s:/@?#\"'`<>]{0,100}:)"
    r"[^\s:/@?#\"'`<>${}*][^\s/@\"'`<>${}]{0,200}(?=@)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?P<name>\bBearer[ ])[A-Za-z0-9._~+/-]{16,}=*")
# A part of a text that is not to be stored; an open one ends with the text.
PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL)


class PastedKey(NamedTuple):
    """A key within a text: its kind and its range."""

    kind: str
    start: int
    end: int


def pasted_keys(text: str) -> list[PastedKey]:
    """Return the keys in a text, in order."""
    return [
        PastedKey(_NAMES[match.lastgroup or "k0"], match.start(), match.end())
        for match in _ANY.finditer(text)
    ]


def without_keys(text: str) -> str:
    """Return the text with each key replaced by a mark."""
    return _ANY.sub(REMOVED, text)


def without_secrets(text: str) -> str:
    """Return the text with each key, and each password in a common form, replaced by a mark.

    Those forms: `password=…` and the like, the password of an address, and a bearer token.
    """
    text = without_keys(text)
    for shape in (_PASSWORD, _IN_ADDRESS, _BEARER):
        text = shape.sub(rf"\g<name>{REMOVED}", text)
    return text
