"""Recognise messages that order a text: what they say is material, not a state of things.

"Write a post for us. Our main keyword is ..." says nothing that another such order would change.
"""

from __future__ import annotations

import re

_POLITE = (
    r"(?:(?:please|now|ok(?:ay)?|and|also|bitte|s'il te plaît|por favor|per favore|пожалуйста)"
    r"[\s,]+"
    r"|(?:can|could|would|will) you (?:please )?|kannst du (?:bitte )?|könntest du (?:bitte )?"
    r"|peux-tu |pourrais-tu |puedes |podrías |puoi |potresti |можешь |(?:help me(?: to)?|let's) )*"
)
# Writing down and reminders are no texts: they state what holds.
_NOTE = (
    r"(?!\s+(?:(?:this|that|it)\s+)?down\b)(?!\s+(?:(?:es|das)\s+)?(?:dir|auf)\b)"
    r"(?!(?:\W+\w+){0,3}?\W+(?:notes?|reminders?|memos?|appointments?|events?|entry|fact"
    r"|notiz|erinnerung|termin|rappel|rendez|note|nota|recordatorio|cita|promemoria"
    r"|appuntamento|напоминание|заметку)\b)"
)
_WORDS = (
    # English nouns are spelt like the verbs: "draft deadline", "write access".
    r"(?:write|rewrite|draft|compose|translate|summari[sz]e|paraphrase|rephrase|proofread|generate"
    r"|create)(?=\s+(?:an?|the|my|our|us|me|this|th[ea]se|that|it|some|in|to|into|from|for|about"
    r"|one|two|three|\d+|up)\b)"
    r"|schreibe?|verfasse|übersetze?|formulier(?:e)?|erstelle|entwirf|generiere"
    r"|(?:schreiben|verfassen|übersetzen|formulieren|erstellen) sie"
    r"|écri(?:s|vez)|rédige[zr]?|tradui(?:s|sez)|résume[zr]?|reformule[zr]?|génère|crée"
    r"|escrib(?:e|a|eme)|escríbeme|redacta|traduce|resume(?= (?:el|la|los|las|est[eao])\b)"
    r"|reformula|genera|crea|scriv(?:i|imi)|redigi|traduc(?:i|imi)|riassumi|riformula"
    r"|напиши(?:те)?|составь(?:те)?|переведи(?:те)?|перескажи(?:те)?|сформулируй(?:те)?"
    r"|сгенерируй(?:те)?"
)
_HAN = (
    r"[请請]?(?:你|您)?(?:帮我|幫我|帮忙|幫忙|为我|為我)?"
    r"(?:[写寫](?![下道])|撰[写寫]|翻[译譯]|[总總][结結]|概括|改[写寫]|[润潤]色|[创創]作|起草)"
)
HEAD_CHARACTERS_MAX = 300  # an order is at the beginning of a message
_ORDER = re.compile(rf"\W*+(?:{_POLITE}(?:{_WORDS})\b{_NOTE}|{_HAN})", re.IGNORECASE)


def orders_text(message: str) -> bool:
    """Return True if a message begins with an order to write, translate or sum up something."""
    return _ORDER.match(message[:HEAD_CHARACTERS_MAX]) is not None
