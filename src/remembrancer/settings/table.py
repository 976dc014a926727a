"""One table of all settings: name, default, unit, help, bounds, choices."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

_SHARED_BYTES_MIN = 1 << 20  # of an index cache


def setting(
    default: Any,
    help: str,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    repr: bool = True,
) -> Any:
    """Return a dataclass field with its documentation and its bounds, both inclusive."""
    metadata = {"help": help, "unit": unit, "least": least, "most": most}
    return field(default=default, repr=repr, metadata=metadata)


secret = partial(setting, "", repr=False)  # a key: it never appears in a representation


def model_key(slot: str) -> Any:
    """Return the field for the key of a model slot."""
    return secret(f"API key for `model_{slot}`. Separate several with commas, in the same order.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a process. `read()` collects them; tests construct them directly."""

    data: Path = setting(
        Path("~/.local/share/remembrancer"),
        "Folder for everything the service stores. A relative path starts at the working folder.",
    )
    host: str = setting("127.0.0.1", "Address to listen on.")
    port: int = setting(8460, "TCP port to listen on. 0 picks a free port.", least=0, most=65535)
    store: str = setting(
        "",
        "Store URL: `sqlite:PATH` or `postgresql://USER@HOST/DATABASE`. Empty: "
        "`remembrancer.sqlite3` in the data folder.",
    )
    store_connections: int = setting(
        16,
        "Maximum number of PostgreSQL connections per server. Further requests wait for one.",
        unit="connections",
        least=2,
        most=1000,
    )
    store_statement_seconds: int = setting(
        30,
        "Timeout of one PostgreSQL statement, including waits for locks.",
        unit="seconds",
        least=1,
        most=3600,
    )
    store_connect_seconds: int = setting(
        5, "Timeout for connecting to PostgreSQL.", unit="seconds", least=2, most=60
    )
    store_wait_seconds: int = setting(
        60,
        "Time to wait for PostgreSQL at startup. 0 means: exit at once.",
        unit="seconds",
        least=0,
        most=3600,
    )
    store_pooler: str = setting(
        "none",
        "`transaction`: a pooler such as PgBouncer assigns connections per transaction, so "
        "statements are not prepared.",
    )
    embedder: str = setting(
        "multilingual",
        "Embedding model: `multilingual` (built in), `none` (full-text search only), `e5`, "
        "`onnx:FOLDER`, `openai:URL#MODEL`, `ollama:NAME` or `fastembed:NAME`.",
    )
    embedder_at_once: str = setting(
        "",
        "A faster embedding model, as in `embedder`, for new texts until `embedder` has embedded "
        "them in the background. Empty: `embedder` does it at once.",
    )
    embedder_key: str = secret("API key of an `openai:` or `ollama:` embedding endpoint.")
    embedder_seconds: int = setting(
        10,
        "Time limit of a request to an embedding endpoint, retries included. A turn is stored "
        "without a vector after it, and gets one in the background.",
        unit="seconds",
        least=1,
        most=300,
    )
    reranker: str = setting(
        "none",
        'Reranker of searches with `"depth": "deep"`: `none`, `onnx:FOLDER` (a cross-encoder), '
        "`http:URL` or `http:URL#MODEL` (like `/rerank` of Cohere, Jina or TEI) or `llm` (the "
        "models of `model_judge`, else of `model_chat`).",
    )
    reranker_key: str = secret("API key of an `http:` reranker.")
    reranker_seconds: int = setting(
        10,
        "Time limit of a request to an `http:` reranker, retries included. After it, a deep search "
        "returns its fast order.",
        unit="seconds",
        least=1,
        most=300,
    )
    durability: str = setting(
        "full",
        "`full`: an answered write survives power loss. `normal`: it survives a killed "
        "process, and is faster.",
    )
    seal_name: str = setting("REM", "Short name of the service: the first word of a seal.")
    body_bytes_max: int = setting(
        1 << 20, "Maximum size of a request body.", unit="bytes", least=1024
    )
    file_bytes_max: int = setting(
        32 << 20,
        "Maximum size of a created file, and of the request that creates it.",
        unit="bytes",
        least=1024,
    )
    account_bytes_max: int = setting(
        1 << 30, "Maximum total size of the files of one account.", unit="bytes", least=0
    )
    blobs: str = setting(
        "local",
        "Storage of file contents: `local` (the data folder) or `s3://BUCKET/PREFIX`.",
    )
    blobs_seconds: int = setting(
        60,
        "Time limit of a request to S3, retries included. One attempt may take half of it.",
        unit="seconds",
        least=2,
        most=3600,
    )
    search_threads: int = setting(
        4,
        "Maximum number of searches that run at the same time.",
        unit="threads",
        least=1,
        most=256,
    )
    rate_memory_per_minute: int = setting(
        30_000,
        "Memory requests per key and minute, with a burst of as many. 0 means unlimited.",
        unit="requests",
        least=0,
    )
    refusal_seconds: int = setting(
        2,
        "Maximum delay of a refusal (401, 429) for a caller that gets more than ten of them a "
        "second. 0 disables.",
        unit="seconds",
        least=0,
        most=60,
    )
    request_memory_bytes: int = setting(
        256 << 20,
        "Memory for bodies of requests of more than 64 KiB that are received or processed. One "
        "account may use half of it.",
        unit="bytes",
        least=1 << 20,
    )
    rate_feedback_per_minute: int = setting(
        10, "Feedback requests per key and minute. 0 means unlimited.", unit="requests", least=0
    )
    start_tokens_max: int = setting(
        2_000, "Maximum length of a start pack.", unit="tokens", least=600, most=100_000
    )
    index_memory_bytes: int = setting(
        256 << 20,
        "Memory for the search indexes of active spaces, without the files that are mapped. "
        "An index that exceeds it alone is loaded again by each search.",
        unit="bytes",
        least=1 << 20,
    )
    database_search_events: int = setting(
        20_000,
        "Minimum number of events before PostgreSQL (pgvector) searches a space whose "
        "index is not loaded. 0 disables.",
        unit="events",
        least=0,
    )
    retention_days: int = setting(
        0,
        "Erase turns this many days after they were stored, unless they are pinned or the account "
        "has a rule of its own. 0 keeps them.",
        unit="days",
        least=0,
        most=36_500,
    )
    retention_events: int = setting(
        0,
        "Keep only this many of each user's newest turns, unless the account has a rule of its "
        "own. 0 keeps all.",
        unit="events",
        least=0,
    )
    decay_days: int = setting(
        0,
        "Half-life of the rank of a turn: a turn this old loses half of the most that age costs. "
        "Nothing is hidden or erased. 0 disables.",
        unit="days",
        least=0,
        most=36_500,
    )
    secrets: str = setting(
        "flag",
        "Keys, tokens and passwords in a turn: `flag` stores them unchanged and flags the "
        "turn, `mask` replaces them.",
    )
    workers: int = setting(
        0,
        "Number of worker processes, on Linux. 0 means one per processor, at most 8. They share "
        "out `index_memory_bytes`, `request_memory_bytes`, `search_threads` and "
        "`store_connections`.",
        unit="processes",
        least=0,
        most=64,
    )
    sandbox_min_level: str = setting(
        "ns",
        "Weakest permitted confinement of programs: `gvisor` (needs runsc), `ns`, "
        "`landlock` (no namespaces) or `unsafe` (none).",
    )
    sandbox_seconds: int = setting(
        10,
        "Default time limit of a program. A request may set its own.",
        unit="seconds",
        least=1,
        most=60,
    )
    sandbox_memory_bytes: int = setting(
        512 << 20, "Memory limit of a program.", unit="bytes", least=16 << 20
    )
    sandbox_disk_bytes: int = setting(
        64 << 20,
        "Maximum size of the files that a program writes or returns.",
        unit="bytes",
        least=1 << 20,
    )
    sandbox_files_max: int = setting(
        32, "Maximum number of files that a program returns.", unit="files", least=0, most=1000
    )
    sandbox_output_bytes: int = setting(
        256 << 10,
        "Bytes of stdout and of stderr to keep.",
        unit="bytes",
        least=1024,
        most=1 << 22,
    )
    sandbox_threads: int = setting(
        32, "Maximum number of threads of a program.", unit="threads", least=1, most=1024
    )
    sandbox_parallel: int = setting(
        0,
        "Maximum number of programs that run at the same time. 0 means one per processor.",
        unit="programs",
        least=0,
        most=256,
    )
    sandbox_queue_max: int = setting(
        16,
        "Maximum number of programs that wait to run. Further ones are rejected.",
        unit="programs",
        least=0,
        most=32,
    )
    sandbox_uid: int = setting(
        58460,
        "User id that programs run as when the server runs as root. The user must own nothing.",
        least=1,
        most=2**31 - 1,
    )
    rate_sandbox_per_minute: int = setting(
        600, "Programs per key and minute. 0 means unlimited.", unit="programs", least=0
    )
    rate_sysperm_per_minute: int = setting(
        300,
        "Permission checks and action logs per key and minute. 0 means unlimited.",
        unit="requests",
        least=0,
    )
    rate_sign_in_per_minute: int = setting(
        5,
        "Password attempts per address and minute. 0 means unlimited.",
        unit="attempts",
        least=0,
    )
    public_url: str = setting(
        "",
        "Public address of the service, such as `https://memory.example.org`. With https, "
        "cookies require TLS.",
    )
    hosts: str = setting(
        "",
        "Further host names of the service, separated by commas, such as `nas.local`. Requests "
        "for names other than these, those of this machine and that of `public_url` are "
        "rejected. `*` permits all.",
    )
    open_metrics: str = setting(
        "direct",
        "Who reads `/metrics` without a key of the owner: `direct` (this machine, without a "
        "proxy header), `loopback` (this machine, also through a proxy on it) or `none`.",
    )
    model_chat: str = setting(
        "",
        "Models for chat, as `MODEL@BASE_URL`. Separate several with commas; the first "
        "that works answers.",
    )
    model_chat_key: str = model_key("chat")
    model_repair_1: str = setting("", "Models that repair programs first, as in `model_chat`.")
    model_repair_1_key: str = model_key("repair_1")
    model_repair_2: str = setting("", "Models that repair programs when the first slot failed.")
    model_repair_2_key: str = model_key("repair_2")
    model_repair_3: str = setting("", "Models that repair programs when the second slot failed.")
    model_repair_3_key: str = model_key("repair_3")
    model_summarize: str = setting("", "Models that write summaries, as in `model_chat`.")
    model_summarize_key: str = model_key("summarize")
    model_judge: str = setting(
        "", "Models that judge claims beyond the built-in rules, as in `model_chat`."
    )
    model_judge_key: str = model_key("judge")
    model_seconds: int = setting(
        60,
        "Time limit of model calls per request, retries included.",
        unit="seconds",
        least=1,
        most=600,
    )
    model_calls_max: int = setting(
        6,
        "Maximum number of model calls per request, retries included.",
        unit="calls",
        least=1,
        most=100,
    )
    model_tokens_max: int = setting(
        1_024, "Maximum length of one model response.", unit="tokens", least=16, most=100_000
    )
    model_temperature: float = setting(
        0.2,
        "Sampling temperature of models. 0 always picks the most likely token.",
        least=0,
        most=2,
    )
    repair_seconds: int = setting(
        60,
        "Time limit of model repairs per program, test runs included.",
        unit="seconds",
        least=1,
        most=600,
    )
    repair_calls_max: int = setting(
        6, "Maximum number of model calls per program.", unit="calls", least=1, most=100
    )
    repair_tokens_max: int = setting(
        12_000,
        "Maximum total length of model responses per program.",
        unit="tokens",
        least=64,
    )
    rate_chat_per_minute: int = setting(
        60,
        "Chat messages per key and minute. 0 means unlimited.",
        unit="messages",
        least=0,
    )
    log_level: str = setting("info", "Log level: `debug`, `info`, `warning` or `error`.")
    log_format: str = setting(
        "text", "Format of the log: `text`, or `json` for one JSON object a line."
    )
    otlp_endpoint: str = setting(
        "",
        "OpenTelemetry collector that gets traces and metrics by OTLP over HTTP, such as "
        "`http://127.0.0.1:4318`. Needs the extra `otel`. Default: none.",
    )
    otlp_metrics_seconds: float = setting(
        60.0, "Interval of the metrics that `otlp_endpoint` gets.", unit="seconds", least=1
    )
    backup_folder: str = setting(
        "",
        "Folder for scheduled backups, outside the data folder. Each is a folder that "
        "`remembrancer restore` reads. Default: no scheduled backups.",
    )
    backup_hours: float = setting(
        24.0, "Hours between two scheduled backups.", unit="hours", least=0.1
    )
    backup_keep: int = setting(
        7, "Scheduled backups to keep. Older ones are removed.", unit="backups", least=1
    )

    def of_worker(self, count: int) -> Settings:
        """Return the settings of one of `count` worker processes: its share of what they share."""
        return replace(
            self,
            index_memory_bytes=max(self.index_memory_bytes // count, _SHARED_BYTES_MIN),
            # one file of the largest size must pass, of an account that may use half
            request_memory_bytes=max(
                self.request_memory_bytes // count,
                min(self.request_memory_bytes, 4 * self.file_bytes_max),
            ),
            search_threads=max(self.search_threads // count, 2),
            store_connections=max(self.store_connections // count, 2),
        )

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
        """`store_url` with its password hidden, for messages."""
        hidden = re.compile(r"(?<=[?&]password=)[^&]*|(?<=//)([^:/@]*):[^/?]*(?=@)")
        return hidden.sub(lambda one: "…" if one[1] is None else f"{one[1]}:…", self.store_url)


CHOICES: dict[str, tuple[str, ...]] = {
    "durability": ("full", "normal"),
    "store_pooler": ("none", "transaction"),
    "secrets": ("flag", "mask"),
    "open_metrics": ("direct", "loopback", "none"),
    "sandbox_min_level": ("gvisor", "ns", "landlock", "unsafe"),
    "log_level": ("debug", "info", "warning", "error"),
    "log_format": ("text", "json"),
}
