"""One table of all settings: name, default, unit, bounds, help (the string below it), choices."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

_SHARED_BYTES_MIN = 1 << 20  # of an index cache


def setting(
    default: Any,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    repr: bool = True,
) -> Any:
    """Return a dataclass field with its unit and its bounds, both inclusive."""
    metadata = {"unit": unit, "least": least, "most": most}
    return field(default=default, repr=repr, metadata=metadata)


secret = partial(setting, "", repr=False)  # a key: it never appears in a representation


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a process. `read()` collects them; tests construct them directly."""

    data: Path = setting(Path("~/.local/share/remembrancer"))
    """Folder for everything the service stores. A relative path starts at the working folder."""
    host: str = setting("127.0.0.1")
    """Address to listen on."""
    port: int = setting(8460, least=0, most=65535)
    """TCP port to listen on. 0 picks a free port."""
    store: str = setting("")
    """Store URL: `sqlite:PATH` or `postgresql://USER@HOST/DATABASE`. Empty: `remembrancer.sqlite3`
    in the data folder."""
    store_connections: int = setting(16, unit="connections", least=2, most=1000)
    """Maximum number of PostgreSQL connections per server. Further requests wait for one."""
    store_statement_seconds: int = setting(30, unit="seconds", least=1, most=3600)
    """Timeout of one PostgreSQL statement, including waits for locks."""
    store_connect_seconds: int = setting(5, unit="seconds", least=2, most=60)
    """Timeout for connecting to PostgreSQL."""
    store_wait_seconds: int = setting(60, unit="seconds", least=0, most=3600)
    """Time to wait for PostgreSQL at startup. 0 means: exit at once."""
    store_pooler: str = setting("none")
    """`transaction`: a pooler such as PgBouncer assigns connections per transaction, so statements
    are not prepared."""
    embedder: str = setting("multilingual")
    """Embedding model: `multilingual` (built in), `none` (full-text search only), `e5`,
    `onnx:FOLDER`, `openai:URL#MODEL`, `ollama:NAME` or `fastembed:NAME`."""
    embedder_at_once: str = setting("")
    """A faster embedding model, as in `embedder`, for new texts until `embedder` has embedded them
    in the background. Empty: `embedder` does it at once."""
    embedder_key: str = secret()
    """API key of an `openai:` or `ollama:` embedding endpoint."""
    embedder_seconds: int = setting(10, unit="seconds", least=1, most=300)
    """Time limit of a request to an embedding endpoint, retries included. A turn is stored without
    a vector after it, and gets one in the background."""
    reranker: str = setting("none")
    """Reranker of searches with `"depth": "deep"`: `none`, `onnx:FOLDER` (a cross-encoder),
    `http:URL` or `http:URL#MODEL` (like `/rerank` of Cohere, Jina or TEI) or `llm` (the models of
    `model_judge`, else of `model_chat`)."""
    reranker_key: str = secret()
    """API key of an `http:` reranker."""
    reranker_seconds: int = setting(10, unit="seconds", least=1, most=300)
    """Time limit of a request to an `http:` reranker, retries included. After it, a deep search
    returns its fast order."""
    durability: str = setting("full")
    """`full`: an answered write survives power loss. `normal`: it survives a killed process, and is
    faster."""
    seal_name: str = setting("REM")
    """Short name of the service: the first word of a seal."""
    body_bytes_max: int = setting(1 << 20, unit="bytes", least=1024)
    """Maximum size of a request body."""
    file_bytes_max: int = setting(32 << 20, unit="bytes", least=1024)
    """Maximum size of a created file, and of the request that creates it."""
    account_bytes_max: int = setting(1 << 30, unit="bytes", least=0)
    """Maximum total size of the files of one account."""
    blobs: str = setting("local")
    """Storage of file contents: `local` (the data folder) or `s3://BUCKET/PREFIX`."""
    blobs_seconds: int = setting(60, unit="seconds", least=2, most=3600)
    """Time limit of a request to S3, retries included. One attempt may take half of it."""
    search_threads: int = setting(4, unit="threads", least=1, most=256)
    """Maximum number of searches that run at the same time."""
    rate_memory_per_minute: int = setting(30_000, unit="requests", least=0)
    """Memory requests per key and minute, with a burst of as many. 0 means unlimited."""
    refusal_seconds: int = setting(2, unit="seconds", least=0, most=60)
    """Maximum delay of a refusal (401, 429) for a caller that gets more than ten of them a second.
    0 disables."""
    request_memory_bytes: int = setting(256 << 20, unit="bytes", least=1 << 20)
    """Memory for bodies of requests of more than 64 KiB that are received or processed. One account
    may use half of it."""
    rate_feedback_per_minute: int = setting(10, unit="requests", least=0)
    """Feedback requests per key and minute. 0 means unlimited."""
    start_tokens_max: int = setting(2_000, unit="tokens", least=600, most=100_000)
    """Maximum length of a start pack."""
    index_memory_bytes: int = setting(256 << 20, unit="bytes", least=1 << 20)
    """Memory for the search indexes of active spaces, without the files that are mapped. An index
    that exceeds it alone is loaded again by each search."""
    database_search_events: int = setting(20_000, unit="events", least=0)
    """Minimum number of events before PostgreSQL (pgvector) searches a space whose index is not
    loaded. 0 disables."""
    retention_days: int = setting(0, unit="days", least=0, most=36_500)
    """Erase turns this many days after they were stored, unless they are pinned or the account has
    a rule of its own. 0 keeps them."""
    retention_events: int = setting(0, unit="events", least=0)
    """Keep only this many of each user's newest turns, unless the account has a rule of its own. 0
    keeps all."""
    decay_days: int = setting(0, unit="days", least=0, most=36_500)
    """Half-life of the rank of a turn: a turn this old loses half of the most that age costs.
    Nothing is hidden or erased. 0 disables."""
    secrets: str = setting("flag")
    """Keys, tokens and passwords in a turn: `flag` stores them unchanged and flags the turn, `mask`
    replaces them."""
    workers: int = setting(0, unit="processes", least=0, most=64)
    """Number of worker processes, on Linux. 0 means one per processor, at most 8. They share out
    `index_memory_bytes`, `request_memory_bytes`, `search_threads` and `store_connections`."""
    sandbox_min_level: str = setting("ns")
    """Weakest permitted confinement of programs: `gvisor` (needs runsc), `ns`, `landlock` (no
    namespaces) or `unsafe` (none)."""
    sandbox_seconds: int = setting(10, unit="seconds", least=1, most=60)
    """Default time limit of a program. A request may set its own."""
    sandbox_memory_bytes: int = setting(512 << 20, unit="bytes", least=16 << 20)
    """Memory limit of a program."""
    sandbox_disk_bytes: int = setting(64 << 20, unit="bytes", least=1 << 20)
    """Maximum size of the files that a program writes or returns."""
    sandbox_files_max: int = setting(32, unit="files", least=0, most=1000)
    """Maximum number of files that a program returns."""
    sandbox_output_bytes: int = setting(256 << 10, unit="bytes", least=1024, most=1 << 22)
    """Bytes of stdout and of stderr to keep."""
    sandbox_threads: int = setting(32, unit="threads", least=1, most=1024)
    """Maximum number of threads of a program."""
    sandbox_parallel: int = setting(0, unit="programs", least=0, most=256)
    """Maximum number of programs that run at the same time. 0 means one per processor."""
    sandbox_queue_max: int = setting(16, unit="programs", least=0, most=32)
    """Maximum number of programs that wait to run. Further ones are rejected."""
    sandbox_uid: int = setting(58460, least=1, most=2**31 - 1)
    """User id that programs run as when the server runs as root. The user must own nothing."""
    rate_sandbox_per_minute: int = setting(600, unit="programs", least=0)
    """Programs per key and minute. 0 means unlimited."""
    rate_sysperm_per_minute: int = setting(300, unit="requests", least=0)
    """Permission checks and action logs per key and minute. 0 means unlimited."""
    rate_sign_in_per_minute: int = setting(5, unit="attempts", least=0)
    """Password attempts per address and minute. 0 means unlimited."""
    public_url: str = setting("")
    """Public address of the service, such as `https://memory.example.org`. With https, cookies
    require TLS."""
    hosts: str = setting("")
    """Further host names of the service, separated by commas, such as `nas.local`. Requests for
    names other than these, those of this machine and that of `public_url` are rejected. `*` permits
    all."""
    open_metrics: str = setting("direct")
    """Who reads `/metrics` without a key of the owner: `direct` (this machine, without a proxy
    header), `loopback` (this machine, also through a proxy on it) or `none`."""
    model_chat: str = setting("")
    """Models for chat, as `MODEL@BASE_URL`. Separate several with commas; the first that works
    answers."""
    model_chat_key: str = secret()
    """API key for `model_chat`. Separate several with commas, in the same order."""
    model_repair_1: str = setting("")
    """Models that repair programs first, as in `model_chat`."""
    model_repair_1_key: str = secret()
    """API key for `model_repair_1`. Separate several with commas, in the same order."""
    model_repair_2: str = setting("")
    """Models that repair programs when the first slot failed."""
    model_repair_2_key: str = secret()
    """API key for `model_repair_2`. Separate several with commas, in the same order."""
    model_repair_3: str = setting("")
    """Models that repair programs when the second slot failed."""
    model_repair_3_key: str = secret()
    """API key for `model_repair_3`. Separate several with commas, in the same order."""
    model_summarize: str = setting("")
    """Models that write summaries, as in `model_chat`."""
    model_summarize_key: str = secret()
    """API key for `model_summarize`. Separate several with commas, in the same order."""
    model_judge: str = setting("")
    """Models that judge claims beyond the built-in rules, as in `model_chat`."""
    model_judge_key: str = secret()
    """API key for `model_judge`. Separate several with commas, in the same order."""
    model_seconds: int = setting(60, unit="seconds", least=1, most=600)
    """Time limit of model calls per request, retries included."""
    model_calls_max: int = setting(6, unit="calls", least=1, most=100)
    """Maximum number of model calls per request, retries included."""
    model_tokens_max: int = setting(1_024, unit="tokens", least=16, most=100_000)
    """Maximum length of one model response."""
    model_temperature: float = setting(0.2, least=0, most=2)
    """Sampling temperature of models. 0 always picks the most likely token."""
    repair_seconds: int = setting(60, unit="seconds", least=1, most=600)
    """Time limit of model repairs per program, test runs included."""
    repair_calls_max: int = setting(6, unit="calls", least=1, most=100)
    """Maximum number of model calls per program."""
    repair_tokens_max: int = setting(12_000, unit="tokens", least=64)
    """Maximum total length of model responses per program."""
    rate_chat_per_minute: int = setting(60, unit="messages", least=0)
    """Chat messages per key and minute. 0 means unlimited."""
    log_level: str = setting("info")
    """Log level: `debug`, `info`, `warning` or `error`."""
    log_format: str = setting("text")
    """Format of the log: `text`, or `json` for one JSON object a line."""
    otlp_endpoint: str = setting("")
    """OpenTelemetry collector that gets traces and metrics by OTLP over HTTP, such as
    `http://127.0.0.1:4318`. Needs the extra `otel`. Default: none."""
    otlp_metrics_seconds: float = setting(60.0, unit="seconds", least=1)
    """Interval of the metrics that `otlp_endpoint` gets."""
    backup_folder: str = setting("")
    """Folder for scheduled backups, outside the data folder. Each is a folder that `remembrancer
    restore` reads. Default: no scheduled backups."""
    backup_hours: float = setting(24.0, unit="hours", least=0.1)
    """Hours between two scheduled backups."""
    backup_keep: int = setting(7, unit="backups", least=1)
    """Scheduled backups to keep. Older ones are removed."""

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
