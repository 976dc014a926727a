"""State of a session between hooks: one small file for each session, changed under a lock.

The file holds the prompt being answered, permission checks that await their log
entry, and requests that could not be sent yet. Its folder belongs to the user.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib

from hook_service import InvalidSetupError, Service, ServiceError, ServiceUnreachableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RESULT_CHARACTERS_MAX = 100_000  # of tool results stored for one turn
QUEUE_MAX = 500  # unsent requests of one session
FILES_MAX = 200  # files of other sessions checked for unsent requests
# A field that only the service's answer to each path has.
ANSWER_FIELDS = {
    "/api/v7/remember": "saved",
    "/api/v7/sysperm/log": "logged",
    "/api/v7/experience/vote": "cube_status",
}
FILE_AGE_DAYS_MAX = 30  # older files without unsent requests are deleted
REVISION_REQUEST = "ours"  # the state member with the revision that the hooks requested


class Session:
    """The state file of one session, created by the first change."""

    def __init__(self, folder: str, agent: str, session_id: str) -> None:
        self.folder, self.id = folder, session_id
        name = re.sub(r"[^A-Za-z0-9_-]", "_", session_id)[:80]
        checksum = zlib.crc32(session_id.encode("utf-8", "replace"))
        self.path = os.path.join(folder, f"{agent}-{name}-{checksum:08x}.json")

    def read(self) -> dict[str, Any]:
        """Return the state; empty if there is none."""
        return _read(self.path)

    def change(self, function: Callable[[dict[str, Any]], Any]) -> Any:
        """Change the state under the lock; return the result of `function`."""
        return _change(self.folder, self.path, function)

    def update(self, **members: Any) -> None:
        """Set members of the state."""
        self.change(lambda state: state.update(members))

    def enqueue(self, path: str, body: dict[str, Any], plain: dict[str, Any] | None = None) -> str:
        """Queue a request; return its idempotency key.

        `plain` is sent in its place if the service refuses it. Raises InvalidSetupError if the
        queue is full.
        """
        return str(self.change(lambda state: enqueue(state, path, body, plain)))

    def send(self, service: Service) -> dict[str, dict[str, Any] | ServiceError]:
        """Send queued requests, oldest first, until one fails for now.

        Returns the answers and permanent errors by idempotency key.
        """
        return _send_queue(self.folder, self.path, service)

    def send_all(self, service: Service) -> None:
        """Send the queues of this and other sessions; delete old files without unsent requests."""
        from time import time

        self.send(service)
        try:
            paths = [
                os.path.join(self.folder, name)
                for name in os.listdir(self.folder)
                if name.endswith(".json")
            ]
            paths.sort(key=os.path.getmtime, reverse=True)
            for path in paths[:FILES_MAX]:
                if path != self.path and _read(path).get("queue"):
                    _send_queue(self.folder, path, service)
            for path in paths:
                is_old = time() - os.path.getmtime(path) > FILE_AGE_DAYS_MAX * 86_400
                if path != self.path and is_old:
                    _change(self.folder, path, lambda _state: None, delete_if_sent=True)
        except FileNotFoundError:
            return


def enqueue(
    state: dict[str, Any], path: str, body: dict[str, Any], plain: dict[str, Any] | None = None
) -> str:
    """Append a request to the queue; return its idempotency key.

    Raises InvalidSetupError if the queue is full.
    """
    queue = state.setdefault("queue", [])
    if len(queue) >= QUEUE_MAX:
        raise InvalidSetupError(
            f"{QUEUE_MAX} requests already wait for the service; this one was not saved"
        )
    key = os.urandom(16).hex()
    request = {"once": key, "path": path, "body": body}
    queue.append({**request, "plain": plain} if plain not in (None, body) else request)
    return key


def now() -> str:
    """Return the current time in the format of the service."""
    from time import gmtime, strftime

    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())


def turn_body(session: Session, state: dict[str, Any], response: str) -> dict[str, Any]:
    """Return the body that remembers the turn of the current prompt."""
    from remembrancer_protocol.pasted import without_secrets

    texts = (state["prompt"] or "", response)
    query, answer = (without_secrets(readable(text)) for text in texts)
    body: dict[str, Any] = {
        "query": query,
        "response": answer,
        "session_id": session.id,
        "occurred_at": state["at"],
    }
    if state.get("project_name"):
        body["metadata"] = {"project": state["project_name"]}
    return {**body, "user_id": state["user_id"]} if state.get("user_id") else body


def readable(text: str) -> str:
    """Replace what the service cannot store (NUL, lone surrogates)."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def _send_queue(
    folder: str, path: str, service: Service
) -> dict[str, dict[str, Any] | ServiceError]:
    results: dict[str, dict[str, Any] | ServiceError] = {}
    for request in list(_read(path).get("queue") or ()):
        try:
            result = _post(request, service)
        except (ServiceUnreachableError, InvalidSetupError):
            break
        if result is None:
            break
        results[request["once"]] = result
        _change(folder, path, _remove_request(request["once"]))
    return results


def _post(
    request: dict[str, Any], service: Service, *, plain: bool = False
) -> dict[str, Any] | ServiceError | None:
    """Send a queued request; return its answer or permanent error, None if it must wait.

    A turn that the service refuses is sent again without its fact, cube and summary, and under
    another key; its answer then has the reason as `refused`.
    """
    body, key = request["body"], request["once"]
    if plain:
        body, key = request["plain"], f"{key}-plain"
    try:
        answer = service.post(request["path"], body, key)
    except ServiceError as error:
        if error.is_transient:
            return None
        if plain or "plain" not in request:
            return error
        second = _post(request, service, plain=True)
        return {**second, "refused": error} if isinstance(second, dict) else second
    # Otherwise something else answers at the address of the service.
    return answer if ANSWER_FIELDS.get(request["path"]) in answer else None


def _remove_request(key: str) -> Callable[[dict[str, Any]], None]:
    def remove(state: dict[str, Any]) -> None:
        queue = state.get("queue", ())
        state["queue"] = [request for request in queue if request.get("once") != key]

    return remove


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            state = json.loads(file.read())
    except FileNotFoundError:
        return {}
    except ValueError:
        os.replace(path, f"{path}.unreadable")  # for the user to inspect; nothing is deleted
        return {}
    return state if isinstance(state, dict) else {}


def _change(
    folder: str,
    path: str,
    function: Callable[[dict[str, Any]], Any],
    *,
    delete_if_sent: bool = False,
) -> Any:
    """Change a file under the lock. With `delete_if_sent`, delete it if its queue is empty."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = _read(path)
        if delete_if_sent and not state.get("queue"):
            os.unlink(path)
            return None
        result = function(state)
        temporary = f"{path}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(json.dumps(state).encode("ascii"))
        os.replace(temporary, path)
        return result
    finally:
        os.close(lock)


def add_results(session: Session, output: object) -> None:
    """Store a tool result until the turn ends, for agents without a transcript to read it from."""
    from hook_transcript import result_texts

    texts = list(result_texts(output))

    def store(state: dict[str, Any]) -> None:
        left = RESULT_CHARACTERS_MAX
        fitting = []
        for text in [*texts, *state.get("results", ())]:
            left -= len(text)
            if left < 0:
                break
            fitting.append(text)
        state["results"] = fitting

    session.change(store)
