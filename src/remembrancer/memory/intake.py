"""Screening of the texts that requests bring: echoed text, secrets and keys of this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..protocol.errors import InvalidRequest
from ..protocol.fence import unfenced
from ..protocol.pasted import PRIVATE
from ..protocol.service_keys import WARNING, mask_service_keys
from ..screening import find_secrets, mask_secrets
from ..settings import Settings
from .spaces import write_metadata

SECRET = "secret"  # noqa: S105 - a flag: the text contains a key, a token or a password


class OnlyEchoedText(InvalidRequest):
    """The text consists only of text that this service returned; it is not stored again."""


@dataclass(slots=True, kw_only=True)
class Intake:
    """Screens the texts of one request, and records what it removed or found."""

    settings: Settings
    echoed_characters: int = 0  # removed because this service returned them
    kinds: dict[str, None] = field(default_factory=dict)  # of the secrets, in order
    has_service_key: bool = False  # masked, whatever the setting says

    def take(self, text: str) -> str:
        """Return the text to store: without echoed text, and screened."""
        own, cut = unfenced(text)
        self.echoed_characters += cut
        return self.screen(own)

    def screen(self, text: str) -> str:
        """Return the text to store from another source, which may contain echoed text.

        Its private parts are left out.
        """
        public = PRIVATE.sub("", text)
        text = mask_service_keys(public)
        self.has_service_key |= text != public
        secrets = find_secrets(text)
        self.kinds |= dict.fromkeys(secret.kind for secret in secrets)
        return mask_secrets(text, secrets) if secrets and self.settings.secrets == "mask" else text

    def take_own(self, text: str) -> str:
        """Return the text to store. Raises OnlyEchoedText if it is blank."""
        own = self.take(text)
        if not own.strip():
            raise OnlyEchoedText
        return own

    def take_if(self, text: str | None) -> str | None:
        """Return the text to store, or None if there is none, or nothing of it but blanks."""
        own = "" if text is None else self.take(text)
        return own if own.strip() else None

    def take_metadata(self, metadata: Mapping[str, Any] | None) -> str | None:
        """Return metadata as it is stored, with its texts screened; None for none."""
        if not metadata:
            return None
        screened = {
            self.screen(key): [self.screen(one) for one in value]
            if isinstance(value, list)
            else self.screen(value)
            if isinstance(value, str)
            else value
            for key, value in metadata.items()
        }
        return write_metadata(screened)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags to store with the event."""
        return (SECRET,) if self.kinds or self.has_service_key else ()

    @property
    def notice(self) -> str | None:
        """A notice about removed text and secrets; None if there is nothing to say."""
        sentences = []
        if self.echoed_characters:
            sentences.append(
                f"{self.echoed_characters:,} characters came from this service "
                "and are not stored again."
            )
        if self.kinds:
            action = (
                "was masked"
                if self.settings.secrets == "mask"
                else "is stored in it: revoke it and create a new one"
            )
            sentences.append(f"A secret ({', '.join(self.kinds)}) {action}.")
        if self.has_service_key:
            sentences.append(WARNING)
        return " ".join(sentences) or None
