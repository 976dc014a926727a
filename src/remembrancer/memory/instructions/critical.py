"""Standing instructions among critical facts: the whole text is one statement.

Pure: no store, no clock. The rules cover English, German, French, Spanish, Italian, Russian and
Chinese.
"""

from __future__ import annotations

import re

from .rules import Instruction

_CONDITION = re.compile(
    r"^(?P<condition>(?:when(?:ever)?|if|wenn|falls|sobald|quand|lorsque|si|cuando|quando|se|если"
    r"|когда|当|如果)\b[^,，.。;]{3,120})[,，]\s*(?P<rest>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_WHEN_CHINESE = re.compile(
    r"^(?P<condition>(?:当|如果|每当)[^,\uff0c\u3002]{2,60})[,\uff0c](?P<rest>.+)$", re.DOTALL
)
_ORDER = re.compile(
    r"^(?:please\s+|bitte\s+|por favor,?\s+|s'il te plaît,?\s+|per favore,?\s+|пожалуйста,?\s+|请)?"
    r"(?:always|never|from now on|don'?t|do not|answer|reply|respond|write|use|call me|address me"
    r"|keep (?:it|answers|replies)|speak|ask me before"
    r"|immer|nie(?:mals)?|ab (?:jetzt|sofort)|antworte|schreib|nenn mich|sprich"
    r"|toujours|jamais|désormais|à partir de maintenant|réponds|appelle-moi|écris"
    r"|siempre|nunca|a partir de ahora|responde|llámame|escribe"
    r"|sempre|mai|d'ora in poi|rispondi|chiamami|scrivi"
    r"|всегда|никогда|отныне|впредь|отвечай|называй|пиши"
    r"|总是|永远|一律|从现在起|以后|不要|别|叫我|用)(?![A-Za-zÀ-ÿ])",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:(?:i|the user|he|she|they|\w+)\s+)?(?:strongly\s+)?prefers?\b"
    r"|\bwants? (?:answers|replies|responses|you to|to be (?:called|addressed))\b"
    r"|\bshould (?:always|never)\b|\bmust (?:always|never)\b"
    r"|\bbevorzug(?:e|t)\b|\bpréfère\b|\bprefier[eo]\b|\bpreferisc[eo]\b|предпочита|偏好|更喜欢",
    re.IGNORECASE,
)


def standing_instruction(fact: str) -> Instruction | None:
    """Return the instruction or preference that a fact states, or None for any other fact."""
    text = fact.strip()
    match = _CONDITION.match(text) or _WHEN_CHINESE.match(text)
    condition, rest = (match["condition"], match["rest"]) if match else (None, text)
    if _ORDER.match(rest) or _PREFERENCE.search(rest):
        return Instruction(text, condition)
    return None
