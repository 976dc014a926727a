"""What of a received text is kept:

not what this service gave out itself, and secrets only as the owner wants them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol.errors import InvalidRequest
from ...protocol.fence import unfenced
from ...search.text.secrets import find_secrets, mask_secrets
from ...settings import Settings

SECRET = "secret"  # noqa: S105 - no password but a flag: it holds a key, a token or a password


class OnlyEchoedText(InvalidRequest):
    """It is only text that this service gave out, which is not kept again."""


@dataclass(slots=True, kw_only=True)
class Intake:
    """Takes texts of one request in, and notes what it did to them."""

    settings: Settings
    given_back: int = 0  # characters left out because this service gave them
    kinds: list[str] = field(default_factory=list)  # of the secrets found, each once

    def take(self, text: str) -> str:
        """The text as it is to be kept."""
        own, cut = unfenced(text)
        self.given_back += cut
        return self.screen(own)

    def screen(self, text: str) -> str:
        """The text as it is to be kept, what this service gave out included:

        for what comes from elsewhere.
        """
        found = find_secrets(text)
        self.kinds += [
            kind
            for kind in dict.fromkeys(secret.kind for secret in found)
            if kind not in self.kinds
        ]
        return mask_secrets(text, found) if found and self.settings.secrets == "mask" else text

    def take_if(self, text: str | None) -> str | None:
        """The same for a text that may be absent or blank, which both give None."""
        if text is None or not text.strip():
            return None
        return self.take(text) or None

    @property
    def flags(self) -> tuple[str, ...]:
        """What is to be noted on the event."""
        return (SECRET,) if self.kinds else ()

    @property
    def noticed(self) -> str | None:
        """What was noticed, in a sentence or two; None for nothing."""
        told = []
        if self.given_back:
            told.append(
                f"{self.given_back:,} characters were given by this service and are not kept again."
            )
        if self.kinds:
            how = (
                "was kept with marks in its place"
                if self.settings.secrets == "mask"
                else "is in it: revoke it and make a new one"
            )
            told.append(f"A secret ({', '.join(self.kinds)}) {how}.")
        return " ".join(told) or None
