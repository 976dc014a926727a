"""State of a session between hooks: one small file per session, changed under a lock.

A file contains the current prompt, the previous seal, permission checks without a log entry, and
queued requests.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib

from hook_calls import InvalidSetup, Refused, Service, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

QUEUE_MAX = 500  # queued requests per session
FILES_MAX = 200  # other sessions whose queues are sent
PROOFS = {  # a field that proves that a response comes from the service
    "/api/v7/remember": "saved",
    "/api/v7/sysperm/log": "logged",
    "/api/v7/experience/vote": "cube_status",
}
DAYS_MAX = 30  # age at which a file without queued requests is deleted


class Session:
    """The state file of one session, created with the first change."""

    def __init__(self, folder: str, agent: str, session_id: str) -> None:
        self.folder, self.id = folder, session_id
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", session_id)[:80]
        self.path = os.path.join(folder, f"{agent}-{safe}-{zlib.crc32(session_id.encode('utf-8', 'replace')):08x}.json")

    def read(self) -> dict[str, Any]:
        """Return the state, empty if there is none."""
        return _read(self.path)

    def change(self, change: Callable[[dict[str, Any]], Any]) -> Any:
        """Apply a function to the state under the lock and return its result."""
        return _change(self.folder, self.path, change)

    def update(self, **values: Any) -> None:
        """Set these values of the state."""
        self.change(lambda state: state.update(values))

    def enqueue(self, path: str, body: dict[str, Any]) -> str:
        """Queue a request and return its idempotency key.

        Raises InvalidSetup if the queue is full.
        """
        return str(self.change(lambda state: enqueue(state, path, body)))

    def send(self, service: Service) -> dict[str, dict[str, Any] | Refused]:
        """Send queued requests, oldest first, until the service fails.

        Return the results by idempotency key.
        """
        return _send(self.folder, self.path, service)

    def send_all(self, service: Service) -> None:
        """Send the queues of all sessions, and delete old files without queued requests."""
        from time import time

        self.send(service)
        try:
            names = [os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.endswith(".json")]
            names.sort(key=os.path.getmtime, reverse=True)
            for path in names[:FILES_MAX]:
                if path != self.path and _read(path).get("queue"):
                    _send(self.folder, path, service)
            for path in names:
                if path != self.path and time() - os.path.getmtime(path) > DAYS_MAX * 86_400:
                    _change(self.folder, path, lambda _state: None, is_last=True)
        except FileNotFoundError:
            return


def enqueue(state: dict[str, Any], path: str, body: dict[str, Any]) -> str:
    """Append a request to the queue and return its idempotency key.

    Raises InvalidSetup if the queue is full.
    """
    queue = state.setdefault("queue", [])
    if len(queue) >= QUEUE_MAX:
        raise InvalidSetup(f"the queue is full: {QUEUE_MAX} requests wait for the service; this one was dropped")
    queue.append({"once": os.urandom(16).hex(), "path": path, "body": body})
    return str(queue[-1]["once"])


def _send(folder: str, path: str, service: Service) -> dict[str, dict[str, Any] | Refused]:
    results: dict[str, dict[str, Any] | Refused] = {}
    for item in list(_read(path).get("queue") or ()):
        try:
            response = service.post(item["path"], item["body"], item["once"])
            if PROOFS.get(item["path"]) not in response:
                break  # something else responds at the service's address
            results[item["once"]] = response
        except Refused as error:
            if error.is_temporary:
                break
            results[item["once"]] = error
        except (Unreachable, InvalidSetup):
            break
        _change(folder, path, _dequeue(item["once"]))
    return results


def _dequeue(key: str) -> Callable[[dict[str, Any]], None]:
    def drop(state: dict[str, Any]) -> None:
        state["queue"] = [item for item in state.get("queue", ()) if item.get("once") != key]

    return drop


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            state = json.loads(file.read())
    except FileNotFoundError:
        return {}
    except ValueError:
        os.replace(path, f"{path}.unreadable")  # preserved for inspection
        return {}
    return state if isinstance(state, dict) else {}


def _change(folder: str, path: str, change: Callable[[dict[str, Any]], Any], *, is_last: bool = False) -> Any:
    """Apply a function to a state file under the lock.

    `is_last` deletes the file instead if its queue is empty.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = _read(path)
        if is_last and not state.get("queue"):
            os.unlink(path)
            return None
        result = change(state)
        temporary = f"{path}.{os.getpid()}"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(json.dumps(state).encode("ascii"))
        os.replace(temporary, path)
        return result
    finally:
        os.close(lock)
