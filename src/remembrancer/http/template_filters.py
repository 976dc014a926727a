"""Template filters for times, numbers and sizes."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def format_time(moment: int | str | datetime | None, absent: str = "never") -> Markup:
    """Return a `<time>` element in UTC, or `absent` for None.

    `moment` is in ms since 1970, an RFC 3339 text, or a datetime.
    """
    if moment is None:
        return Markup('<span class="quiet">{}</span>').format(absent)
    if isinstance(moment, int):
        at = datetime.fromtimestamp(moment / 1000, UTC)
    else:
        at = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone(UTC)
    return Markup(
        '<time datetime="{:%Y-%m-%dT%H:%M:%SZ}" title="{:%Y-%m-%d %H:%M:%S} UTC">'
        "{:%Y-%m-%d %H:%M}</time>"
    ).format(at, at, at)


def count(number: float) -> str:
    """Format a number with thousands separators."""
    return f"{number:,}"


def size(number: int) -> str:
    """Format a size in bytes, for example `512 bytes` or `1.5 KiB`."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    if unit == 0:
        return f"{number:,} {'byte' if number == 1 else _UNITS[0]}"
    return f"{value:.1f} {_UNITS[unit]}"
