"""The peers of the comparison, and the environment of each with fixed versions.

An environment is installed once, outside the tree, and used again by later runs.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

INSTALL_SECONDS_MAX = 900


class PeerUnavailable(Exception):
    """A peer cannot be installed, opened or used here. The message says why."""


@dataclass(frozen=True, slots=True)
class PeerKind:
    """One row of the comparison."""

    name: str
    module: str
    packages: tuple[str, ...] = ()  # none: it runs in the environment of the project
    without: str = ""  # a package that it only needs to embed texts itself
    embeds: bool = False  # it embeds texts itself, so that its CPU time has that of the embedder


OWN = "remembrancer"
PEERS = {
    OWN: PeerKind("Remembrancer, over HTTP", "bench.peers.own_server", embeds=True),
    "by-hand": PeerKind("FTS5 + exact vectors by hand", "bench.peers.by_hand"),
    "sqlite-vec": PeerKind(
        "FTS5 + sqlite-vec by hand",
        "bench.peers.sqlite_vec",
        ("sqlite-vec==0.1.9", "apsw==3.54.1.0"),
    ),
    "lancedb": PeerKind(
        "LanceDB hybrid", "bench.peers.lancedb_hybrid", ("lancedb==0.40.0", "pyarrow==26.0.1")
    ),
    "txtai": PeerKind("txtai hybrid", "bench.peers.txtai_hybrid", ("txtai==9.14.0",)),
    "mem0": PeerKind(
        "mem0, no inference", "bench.peers.mem0_plain", ("mem0ai==2.2.1", "langchain==1.4.7")
    ),
    "chroma": PeerKind("Chroma", "bench.peers.chroma", ("chromadb==1.5.9",)),
    "mempalace": PeerKind(
        "MemPalace, union", "bench.peers.mempalace_union", ("mempalace==3.11.0", "chromadb==1.5.9")
    ),
    "engram": PeerKind(
        "engram-search",
        "bench.peers.engram",
        ("engram-search==0.1.7", "faiss-cpu==1.15.1", "mcp==1.30.0"),
        without="sentence-transformers",  # brings 5 GB
    ),
}


def cache_folder() -> Path:
    """Return the default folder of the environments."""
    return Path.home() / ".cache" / "remembrancer-peers"


def python_of(kind: PeerKind, cache: Path) -> str:
    """Return the Python of a peer's environment; install it first if needed.

    Raises PeerUnavailable.
    """
    if not kind.packages:
        return sys.executable
    digest = hashlib.sha256("\n".join((sys.version, *kind.packages)).encode()).hexdigest()[:12]
    folder = cache / f"{kind.module.rpartition('.')[2]}-{digest}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        uv = [sys.executable, "-m", "uv"]
        _install(kind, [*uv, "venv", "--quiet", "--clear", str(folder)])
        options = ["--quiet", "--python", str(python)]
        if kind.without:
            (folder / "excludes.txt").write_text(kind.without)
            options += ["--excludes", str(folder / "excludes.txt")]
        _install(kind, [*uv, "pip", "install", *options, *kind.packages])
        (folder / "ready").touch()
    return str(python)


def _install(kind: PeerKind, command: list[str]) -> None:
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS_MAX
        )
    except subprocess.TimeoutExpired as error:
        raise PeerUnavailable(
            f"{kind.name} was not installed within {INSTALL_SECONDS_MAX} s"
        ) from error
    if process.returncode:
        reason = " ".join(process.stderr.split())[-300:]
        raise PeerUnavailable(f"{kind.name} cannot be installed: {reason}")
