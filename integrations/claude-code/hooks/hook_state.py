"""What hooks of one session keep for the next one: one small file a session, in a folder of the user's own, changed under a lock.

A file holds the prompt that is being answered, the last seal, checks that await their log, and what could not be sent yet.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib

from hook_calls import Refused, Service, Unfit, Unreached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

QUEUE_MAX = 500  # requests that wait in one session
FILES_MAX = 200  # of other sessions that are looked at for what they could not send
PROOFS = {  # what an answer of the service has
    "/api/v7/remember": "saved",
    "/api/v7/sysperm/log": "logged",
    "/api/v7/experience/vote": "cube_status",
}
DAYS_KEPT = 30  # a file with nothing to send


class Session:
    """One session's file. Made when something is first kept."""

    def __init__(self, folder: str, agent: str, session_id: str) -> None:
        self.folder, self.id = folder, session_id
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", session_id)[:80]
        self.path = os.path.join(folder, f"{agent}-{safe}-{zlib.crc32(session_id.encode('utf-8', 'replace')):08x}.json")

    def read(self) -> dict[str, Any]:
        """All that is kept; empty where there is nothing."""
        return _read(self.path)

    def change(self, change: Callable[[dict[str, Any]], Any]) -> Any:
        """Change what is kept, alone with it; gives what `change` gives."""
        return _changed(self.folder, self.path, change)

    def keep(self, **said: Any) -> None:
        """Keep these, whatever they were before."""
        self.change(lambda kept: kept.update(said))

    def send_later(self, path: str, body: dict[str, Any]) -> str:
        """Put a request into the queue; gives its Idempotency-Key. Raises Unfit when too many wait."""
        return str(self.change(lambda kept: queue(kept, path, body)))

    def send(self, service: Service) -> dict[str, dict[str, Any] | Refused]:
        """Send what waits, oldest first, until the service gives no answer; gives what came of each, by its key."""
        return _sent(self.folder, self.path, service)

    def send_all(self, service: Service) -> None:
        """The same for this and other sessions, of any agent; files that hold nothing to send go after a month."""
        from time import time

        self.send(service)
        try:
            names = [os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.endswith(".json")]
            names.sort(key=os.path.getmtime, reverse=True)
            for path in names[:FILES_MAX]:
                if path != self.path and _read(path).get("queue"):
                    _sent(self.folder, path, service)
            for path in names:
                if path != self.path and time() - os.path.getmtime(path) > DAYS_KEPT * 86_400:
                    _changed(self.folder, path, lambda _kept: None, is_last=True)
        except FileNotFoundError:
            return


def queue(kept: dict[str, Any], path: str, body: dict[str, Any]) -> str:
    """Put a request behind those that wait; gives its Idempotency-Key. Raises Unfit when too many wait."""
    waiting = kept.setdefault("queue", [])
    if len(waiting) >= QUEUE_MAX:
        raise Unfit(f"{QUEUE_MAX} requests wait for the service already; this one was not kept")
    waiting.append({"once": os.urandom(16).hex(), "path": path, "body": body})
    return str(waiting[-1]["once"])


def _sent(folder: str, path: str, service: Service) -> dict[str, dict[str, Any] | Refused]:
    came: dict[str, dict[str, Any] | Refused] = {}
    for waiting in list(_read(path).get("queue") or ()):
        try:
            said = service.post(waiting["path"], waiting["body"], waiting["once"])
            if PROOFS.get(waiting["path"]) not in said:
                break  # something answers in the service's place
            came[waiting["once"]] = said
        except Refused as refused:
            if refused.passes:
                break
            came[waiting["once"]] = refused
        except (Unreached, Unfit):
            break
        _changed(folder, path, _without(waiting["once"]))
    return came


def _without(once: str) -> Callable[[dict[str, Any]], None]:
    def drop(kept: dict[str, Any]) -> None:
        kept["queue"] = [waiting for waiting in kept.get("queue", ()) if waiting.get("once") != once]

    return drop


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            kept = json.loads(file.read())
    except FileNotFoundError:
        return {}
    except ValueError:
        os.replace(path, f"{path}.unreadable")  # kept for a person; nothing is thrown away
        return {}
    return kept if isinstance(kept, dict) else {}


def _changed(folder: str, path: str, change: Callable[[dict[str, Any]], Any], *, is_last: bool = False) -> Any:
    """`is_last`: remove the file when it has nothing to send."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = _read(path)
        if is_last and not kept.get("queue"):
            os.unlink(path)
            return None
        came = change(kept)
        beside = f"{path}.{os.getpid()}"
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(json.dumps(kept).encode("ascii"))
        os.replace(beside, path)
        return came
    finally:
        os.close(lock)
