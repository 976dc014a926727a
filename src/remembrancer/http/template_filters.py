"""How times, sizes and other figures stand on a page."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def format_time(moment: int | str | datetime | None, absent: str = "never") -> Markup:
    """A `<time>` that people and programs can read, in UTC:

    of ms since 1970, of RFC 3339, or of a moment; `absent` for None.
    """
    if moment is None:
        return Markup('<span class="quiet">{}</span>').format(absent)
    if isinstance(moment, int):
        at = datetime.fromtimestamp(moment / 1000, UTC)
    else:
        at = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone(UTC)
    return Markup(
        '<time datetime="{:%Y-%m-%dT%H:%M:%SZ}" title="{:%Y-%m-%d %H:%M:%S} UTC">{:%Y-%m-%d %H:%M}</time>'
    ).format(at, at, at)


def count(number: float) -> str:
    """12,345."""
    return f"{number:,}"


def size(number: int) -> str:
    """A size in the unit that people would choose: 512 bytes, 1.5 KiB."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return (
        f"{number:,} {'byte' if number == 1 else _UNITS[0]}"
        if unit == 0
        else f"{value:.1f} {_UNITS[unit]}"
    )
