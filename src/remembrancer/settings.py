"""Every setting, once: its default, its unit and what it is for. The only reader of the
environment.

A setting comes from, strongest first: a word on the command line, `REMEMBRANCER_<NAME>`, a TOML
file (`REMEMBRANCER_CONFIG`, else `remembrancer.toml` in the data folder), the default below.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

PREFIX = "REMEMBRANCER_"


class SettingInvalid(ValueError):
    """A setting has a value it cannot have; the message names the setting, where it came from and
    what it takes.
    """


def setting(
    default: Any,
    help: str,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """One row of the table:

    a dataclass field that carries its own documentation and bounds (both inclusive).
    """
    return field(
        default=default, metadata={"help": help, "unit": unit, "least": least, "most": most}
    )


def secret(slot: str) -> Any:
    """The row of a slot's key, which nothing shows."""
    what = f"Key for the models of `model_{slot}`; several, in their order, have commas between."
    return field(
        default="", repr=False, metadata={"help": what, "unit": "", "least": None, "most": None}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values in force. `settings()` reads them; tests build them by hand."""

    data: Path = setting(
        Path("~/.local/share/remembrancer"), "Folder that holds everything the service keeps."
    )
    host: str = setting("127.0.0.1", "Address to listen on.")
    port: int = setting(8460, "TCP port to listen on.", least=0, most=65535)
    store: str = setting(
        "",
        "Where the rows live: `sqlite:PATH` or `postgresql://USER@HOST/DATABASE`. Empty: `remembrancer.sqlite3` in the data folder.",
    )
    store_connections: int = setting(
        16,
        "Connections that one server may have to a PostgreSQL; requests beyond that wait for one.",
        unit="connections",
        least=2,
        most=1000,
    )
    store_statement_seconds: int = setting(
        30,
        "Time that a PostgreSQL may take for one statement, waiting for locks included.",
        unit="seconds",
        least=1,
        most=3600,
    )
    store_connect_seconds: int = setting(
        5, "Time that connecting to a PostgreSQL may take.", unit="seconds", least=2, most=60
    )
    store_wait_seconds: int = setting(
        60,
        "How long a start waits for a PostgreSQL that does not answer; 0 = it ends at once.",
        unit="seconds",
        least=0,
        most=3600,
    )
    store_pooler: str = setting(
        "none",
        "`transaction`: a pooler such as PgBouncer gives each transaction another connection, so that no statement is prepared.",
    )
    embedder: str = setting(
        "multilingual", "What turns text into vectors: `multilingual` or `none` (full text only)."
    )
    durability: str = setting(
        "full",
        "`full`: an answered write survives power loss; `normal`: it survives a killed process only, and is faster.",
    )
    seal_name: str = setting("REM", "The service's short name, the first word of a seal.")
    body_bytes_max: int = setting(1 << 20, "Largest request body.", unit="bytes", least=1024)
    file_bytes_max: int = setting(
        32 << 20,
        "Largest created file, and largest body of a request that creates one.",
        unit="bytes",
        least=1024,
    )
    account_bytes_max: int = setting(
        1 << 30, "What the files of one account may take together.", unit="bytes", least=0
    )
    blobs: str = setting(
        "local",
        "Where the contents of files are kept: `local` (the data folder) or `s3://BUCKET/PREFIX`.",
    )
    search_threads: int = setting(
        4, "Searches that may run at the same time.", unit="threads", least=1, most=256
    )
    rate_memory_per_minute: int = setting(
        0,
        "Memory calls one key may make in a minute; 0 = as many as it likes.",
        unit="calls",
        least=0,
    )
    rate_feedback_per_minute: int = setting(
        10, "Feedback one key may give in a minute; 0 = as much as it likes.", unit="calls", least=0
    )
    start_tokens_max: int = setting(
        2_000, "What a start pack may take of a prompt.", unit="tokens", least=600, most=100_000
    )
    index_memory_bytes: int = setting(
        256 << 20,
        "Memory for the search indexes of the spaces in use.",
        unit="bytes",
        least=1 << 20,
    )
    database_search_events: int = setting(
        20_000,
        "Events of a space from which on PostgreSQL with the extension `vector` searches it itself while it is not in memory; 0 = never.",
        unit="events",
        least=0,
    )
    secrets: str = setting(
        "flag",
        "Keys, tokens and passwords found in a turn: `flag` keeps it word for word, `mask` keeps marks instead.",
    )
    sandbox_min_level: str = setting(
        "ns",
        "Weakest confinement a program may run in: `gvisor` (needs runsc), `ns`, `landlock` (no namespaces), or `unsafe` (none at all).",
    )
    sandbox_seconds: int = setting(
        10,
        "Time a program may take when the request does not say.",
        unit="seconds",
        least=1,
        most=60,
    )
    sandbox_memory_bytes: int = setting(
        512 << 20, "Memory a program may take.", unit="bytes", least=16 << 20
    )
    sandbox_disk_bytes: int = setting(
        64 << 20,
        "What a program may write into its folder, and give back as files.",
        unit="bytes",
        least=1 << 20,
    )
    sandbox_files_max: int = setting(
        32, "Files a program may give back.", unit="files", least=0, most=1000
    )
    sandbox_output_bytes: int = setting(
        256 << 10,
        "What is kept of each of standard output and error.",
        unit="bytes",
        least=1024,
        most=1 << 22,
    )
    sandbox_threads: int = setting(
        32, "Threads a program may have.", unit="threads", least=1, most=1024
    )
    sandbox_parallel: int = setting(
        0,
        "Programs that may run at the same time; 0 = one for each processor.",
        unit="programs",
        least=0,
        most=256,
    )
    sandbox_queue_max: int = setting(
        16,
        "Programs that may wait for a place; the next one is refused.",
        unit="programs",
        least=0,
        most=32,
    )
    sandbox_uid: int = setting(
        58460,
        "User that programs run as when the server runs as root; it must own nothing.",
        least=1,
        most=2**31 - 1,
    )
    rate_sandbox_per_minute: int = setting(
        600, "Programs one key may run in a minute; 0 = as many as it likes.", unit="calls", least=0
    )
    rate_sysperm_per_minute: int = setting(
        300,
        "Permission checks and logs of actions that one key may send in a minute; 0 = as many as it likes.",
        unit="calls",
        least=0,
    )
    rate_sign_in_per_minute: int = setting(
        5,
        "Passwords that may be tried in a minute from one address; 0 = as many as it likes.",
        unit="calls",
        least=0,
    )
    public_url: str = setting(
        "",
        "Address people reach the service at, such as `https://memory.example.org`; with https, cookies are for TLS alone.",
    )
    model_chat: str = setting(
        "",
        "Models that answer in chat, `MODEL@BASE_URL`, the first that works of several with commas between.",
    )
    model_chat_key: str = secret("chat")
    model_repair_1: str = setting(
        "", "Models that repair programs first, written as in `model_chat`."
    )
    model_repair_1_key: str = secret("repair_1")
    model_repair_2: str = setting("", "Models that repair programs when the first did not.")
    model_repair_2_key: str = secret("repair_2")
    model_repair_3: str = setting("", "Models that repair programs when the second did not either.")
    model_repair_3_key: str = secret("repair_3")
    model_summarize: str = setting("", "Models that summarise, written as in `model_chat`.")
    model_summarize_key: str = secret("summarize")
    model_judge: str = setting(
        "", "Models that judge what rules cannot, written as in `model_chat`."
    )
    model_judge_key: str = secret("judge")
    model_seconds: int = setting(
        60,
        "Time that models may take for one request, all tries together.",
        unit="seconds",
        least=1,
        most=600,
    )
    model_calls_max: int = setting(
        6, "Calls of models for one request, all tries together.", unit="calls", least=1, most=100
    )
    model_tokens_max: int = setting(
        1_024, "What a model may write in one answer.", unit="tokens", least=16, most=100_000
    )
    model_temperature: float = setting(
        0.2, "How freely a model chooses its words: 0 always takes the likeliest.", least=0, most=2
    )
    repair_seconds: int = setting(
        60,
        "Time that models may take for one program, the runs of what they wrote included.",
        unit="seconds",
        least=1,
        most=600,
    )
    repair_calls_max: int = setting(
        6, "Calls of models for one program.", unit="calls", least=1, most=100
    )
    repair_tokens_max: int = setting(
        12_000,
        "What models may write for one program, all answers together.",
        unit="tokens",
        least=64,
    )
    rate_chat_per_minute: int = setting(
        60,
        "Chat messages one key may send in a minute; 0 = as many as it likes.",
        unit="calls",
        least=0,
    )
    log_level: str = setting("info", "How much is logged: `debug`, `info`, `warning` or `error`.")

    @property
    def data_folder(self) -> Path:
        """The data folder with `~` resolved."""
        return self.data.expanduser()

    @property
    def store_url(self) -> str:
        """`store`, or the SQLite file in the data folder when it is empty."""
        return self.store or f"sqlite:{self.data_folder / 'remembrancer.sqlite3'}"

    @property
    def store_shown(self) -> str:
        """`store_url` for people: a password in it is not shown."""
        hidden = r"(?<=[?&]password=)[^&]*|(?<=//)([^:/@]*):[^/?]*(?=@)"
        return re.sub(
            hidden, lambda found: "…" if found[1] is None else f"{found[1]}:…", self.store_url
        )


CHOICES: dict[str, tuple[str, ...]] = {
    "durability": ("full", "normal"),
    "store_pooler": ("none", "transaction"),
    "secrets": ("flag", "mask"),
    "sandbox_min_level": ("gvisor", "ns", "landlock", "unsafe"),
    "log_level": ("debug", "info", "warning", "error"),
}


def read(environment: Mapping[str, str] | None = None, **given: Any) -> Settings:
    """The settings in force; `given` (words of the command line, None = not said) wins.

    Raises SettingInvalid for an unknown name, a value of the wrong type, out of bounds or not among
    the choices.
    """
    env = os.environ if environment is None else environment
    said = {name: (value, "the command line") for name, value in given.items() if value is not None}
    for row in fields(Settings):
        if (text := env.get(PREFIX + row.name.upper())) is not None:
            said.setdefault(row.name, (text, PREFIX + row.name.upper()))
    for name, value in _from_file(env, said).items():
        said.setdefault(name, value)
    return Settings(**{name: _parsed(name, value, where) for name, (value, where) in said.items()})


def from_environment(name: str) -> str | None:
    """A word of the environment that is none of the service's settings, such as a client's key;
    None when unset or empty.
    """
    return os.environ.get(name) or None


def _from_file(
    env: Mapping[str, str], said: Mapping[str, tuple[Any, str]]
) -> dict[str, tuple[Any, str]]:
    named = env.get(PREFIX + "CONFIG")
    folder = Path(said["data"][0]) if "data" in said else Settings().data
    path = Path(named) if named else folder.expanduser() / "remembrancer.toml"
    if not named and not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingInvalid(f"{path} cannot be read as TOML: {error}") from error
    return {name: (value, str(path)) for name, value in table.items()}


def _parsed(name: str, value: Any, where: str) -> Any:
    rows = {row.name: row for row in fields(Settings)}
    if name not in rows:
        raise SettingInvalid(
            f"{where}: there is no setting `{name}`. `remembrancer serve --help` and docs/reference/settings.md list them."
        )
    default, bounds = rows[name].default, rows[name].metadata
    if isinstance(default, int | float):
        kind, said = (int, "a whole number") if isinstance(default, int) else (float, "a number")
        try:
            number = kind(value)
        except (TypeError, ValueError):
            raise SettingInvalid(f"{where}: `{name}` must be {said}, not {value!r}.") from None
        least, most = (
            end if bounds[side] is None else bounds[side]
            for side, end in (("least", -math.inf), ("most", math.inf))
        )
        if not least <= number <= most:  # so that no bound lets NaN through
            raise SettingInvalid(
                f"{where}: `{name}` must be between {bounds['least']} and {bounds['most']}, not {number}."
            )
        return number
    if not isinstance(value, str | Path):
        raise SettingInvalid(f"{where}: `{name}` must be a text.")
    if name in CHOICES and value not in CHOICES[name]:
        raise SettingInvalid(
            f"{where}: `{name}` must be one of {', '.join(CHOICES[name])}, not {value!r}."
        )
    if name == "public_url" and value and not str(value).startswith(("http://", "https://")):
        raise SettingInvalid(
            f"{where}: `{name}` must begin with http:// or https://, not be {value!r}."
        )
    return Path(value) if isinstance(default, Path) else str(value)
