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


_AGES = (("year", 365.25), ("month", 30.44), ("week", 7.0), ("day", 1.0))


def ago(moment: int, now_ms: int) -> str:
    """Return how long ago a time was, for example `2 days ago`. Both are in ms since 1970."""
    minutes = (now_ms - moment) / 60_000
    if minutes < 0:
        return "in the future" if minutes < -1 else "just now"
    if minutes < 1:
        return "just now"
    for name, size in (("minute", 60.0), ("hour", 24.0)):
        if minutes < size:
            number = int(minutes)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
        minutes /= size
    name, size = next((one for one in _AGES if minutes >= one[1]), _AGES[-1])
    number = max(int(minutes / size), 1)
    return f"{number} {name}{'' if number == 1 else 's'} ago"


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
