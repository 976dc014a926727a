"""Event handlers for Claude Code and Codex, whose hooks have the same format."""

from __future__ import annotations

import zlib

import hook_output
from hook_service import (
    InvalidSetupError,
    Service,
    ServiceError,
    ServiceUnreachableError,
    Settings,
)
from hook_state import REVISION_REQUEST, Session, enqueue, now, readable, turn_body
from remembrancer_protocol.notices import without_notices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ANSWERABLE_MIN = 0.12  # protocol/limits.py, HOOKS_ANSWERABLE_MIN
HITS_MAX = 8  # protocol/limits.py, UNASKED_HITS_MAX
QUERY_CHARACTERS_MAX = 20_000  # of a prompt sent as a search; the whole prompt is remembered
PROMPT, SUBAGENT = "UserPromptSubmit", "SubagentStart"
SUBAGENT_TOOLS = ("Task", "Agent")
IMAGE = "[image]"  # stored as the prompt that is an image alone
SHOWN_MAX = 500  # recalled items of a session that are not shown again
START = (
    "Hooks follow the protocol of this memory for you: they search it before you answer and save "
    "each turn afterwards. The user sees everything that you write. For anything else, use the "
    "tools of the MCP server `remembrancer` with {place}."
)
START_WITHOUT_RECALL = (
    "Hooks save each turn of this conversation. Before you answer, call `recall` of the MCP server "
    "`remembrancer` with what the user wants and {place}. The user sees everything that you write."
)


def answer(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return the answer for the agent. Raises InvalidSetupError and OSError."""
    name = str(event.get("hook_event_name"))
    if event.get("agent_id"):
        # Turns of a subagent are not the user's: it may recall, and its tool calls need permission.
        if name == "PreToolUse":
            return check_permissions(event, settings, service, session)
        return recall_for_task(settings, service, session) if name == SUBAGENT else {}
    handler = {
        "SessionStart": start_session,
        PROMPT: recall,
        "PreToolUse": check_permissions,
        "PostToolUse": log_tool_call,
        "PostToolUseFailure": log_tool_call,
        "Stop": stop,
        "PreCompact": save,
        "SessionEnd": save,
    }.get(name)
    return handler(event, settings, service, session) if handler else {}


def start_session(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Send what earlier sessions could not send, and return the start pack.

    Also after a compaction, which removes what was recalled before from the context. A resumed
    session has its own turns, and the start pack, in its context.
    """
    if event.get("source") == "resume" and session.read().get("start_pack"):
        session.send(service)
        return {}
    session.update(project=settings.project or event.get("cwd") or "", start_pack="", shown=[])
    project = _note_project(event, settings, session)
    if event.get("source") != "resume":
        session.update(context_from=now())
    try:
        session.send_all(service)
        instructions = START_WITHOUT_RECALL if settings.agent == "cursor" else START
        pack = service.get(
            "/api/v7/memory/start",
            session_id=session.id,
            user_id=user_id(settings, service, session),
            format="text",
            client="hooks",
            project=project,
        )
    except (InvalidSetupError, ServiceUnreachableError, ServiceError) as error:
        message = f"Remembrancer: {error}. Turns are queued on disk until it answers."
        return hook_output.context(settings.agent, "SessionStart", "", message)
    session.update(start_pack=pack["prompt_text"])
    place = f"session_id `{session.id}`" + (f" and project `{project}`" if project else "")
    text = f"{instructions.format(place=place)}\n\n{pack['prompt_text']}"
    return hook_output.context(settings.agent, "SessionStart", text)


def user_id(settings: Settings, service: Service, session: Session) -> str:
    """Return the user whose memory is used. Default: the key's own user.

    Raises the errors of a request.
    """
    if settings.user_id:
        return settings.user_id
    cached = session.read().get("user_id")
    if isinstance(cached, str):
        return cached
    own = str(service.get("/api/v7/key")["user_id"])
    session.update(user_id=own)
    return own


def recall(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return search results for the prompt; nothing if there are none."""
    prompt = save_prompt(event, settings, session)
    if not prompt or prompt == IMAGE:
        return {}
    state = session.read()
    query: dict[str, Any] = {"session_id": session.id, "seals": False}
    if project := state.get("project_name"):
        query["project"] = project
    if work := state.get("work"):
        from hook_work import work_to_send

        query["work"] = work_to_send(work)
    try:
        results = _search(prompt, query, settings, service, session)
    except (InvalidSetupError, ServiceUnreachableError, ServiceError):
        if work:  # old by the next prompt, and perhaps what the service rejected
            session.update(work=None)
        return {}
    new_cubes = [
        cube["cube_id"]
        for cube in results["shared_cubes"]
        if str(cube.get("note", "")).startswith("new")
    ]
    since = state.get("context_from")
    results["hits"] = [
        hit for hit in results["hits"] if not _is_in_conversation(hit, session.id, since)
    ]
    recalled = Recalled(results, state, settings.tokens)
    session.update(
        step=results["step"],
        span=results["total_hits"],
        facts=[one["fact_id"] for one in results["facts"] if one["status"] == "current"],
        recalled=recalled.in_context,
        shown=recalled.shown,
        cubes=new_cubes,
        work=None,
    )
    text = recalled.text()
    return hook_output.context(settings.agent, PROMPT, text)


def recall_for_task(settings: Settings, service: Service, session: Session) -> dict[str, Any]:
    """Return search results for the oldest task that no subagent has begun.

    Nothing is stored or counted.
    """
    task = session.change(lambda state: state["tasks"].pop(0) if state.get("tasks") else "")
    if not task:
        return {}
    query: dict[str, Any] = {"interact": False}
    if project := session.read().get("project_name"):
        query["project"] = project
    try:
        results = _search(task, query, settings, service, session)
    except (InvalidSetupError, ServiceUnreachableError, ServiceError):
        return {}
    text = Recalled(results, {}, settings.tokens).text()
    return hook_output.context(settings.agent, SUBAGENT, text)


def _note_task(event: dict[str, Any], session: Session) -> None:
    """Keep the task that the agent gives to a subagent until that starts: then it is not told."""
    from remembrancer_protocol.pasted import PRIVATE

    arguments = event.get("tool_input")
    prompt = arguments.get("prompt") if isinstance(arguments, dict) else None
    task = PRIVATE.sub("", prompt) if isinstance(prompt, str) else ""
    if task.strip():
        session.change(lambda state: state.setdefault("tasks", []).append(task))


def _search(
    prompt: str, query: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return what a search finds that nobody asked for; `query` has its other fields.

    Raises the errors of a request.
    """
    from remembrancer_protocol.pasted import without_secrets

    body = {
        **query,
        "query_text": without_secrets(readable(prompt))[:QUERY_CHARACTERS_MAX],
        "top_k": HITS_MAX,
        "max_tokens": settings.tokens,
        "min_answerable": ANSWERABLE_MIN,
        "user_id": user_id(settings, service, session),
    }
    results = service.post("/api/v7/memory", body)
    results["hits"] = [hit for hit in results["hits"] if not _is_of_machine(hit)]
    return results


def _is_of_machine(hit: dict[str, Any]) -> bool:
    """Return True if nobody wrote an event: an agent asks for those itself."""
    return any(signal.get("signal") == "machine_notice" for signal in hit.get("why") or ())


def _is_in_conversation(hit: dict[str, Any], session_id: str, since: object) -> bool:
    """Return True if an event is a turn of this session since its context began (RFC 3339)."""
    is_own = hit.get("session_id") == session_id
    return is_own and isinstance(since, str) and str(hit.get("occurred_at"))[:19] >= since[:19]


def save_prompt(event: dict[str, Any], settings: Settings, session: Session) -> str:
    """Store the prompt until its turn is remembered; return it, or "" if it is not a user prompt.

    Machine notices are no part of a prompt: a program sends them, for example when a task ends.
    If the turn of the previous prompt never ended, it is queued now.
    """
    text = event.get("prompt")
    if not isinstance(text, str) or _is_command(text):
        return ""
    text = text if text.strip() else IMAGE
    if settings.user_id:
        session.update(user_id=settings.user_id)
    _note_project(event, settings, session)
    prompt = without_notices(text)
    if not prompt.strip():
        session.change(_start_without_prompt)
        return ""
    if "<" in prompt:
        from remembrancer_protocol.pasted import PRIVATE

        prompt = PRIVATE.sub("", prompt)
        if not prompt.strip():  # nor is its answer stored
            session.update(**_new_turn(""))
            return ""

    def store(state: dict[str, Any]) -> str:
        if prompt == state.get(REVISION_REQUEST):
            return ""
        if state.get("prompt") and not state.get("draft"):
            from hook_transcript import answer_to

            response = answer_to(event.get("transcript_path"), state["prompt"])
            enqueue(state, "/api/v7/remember", turn_body(session, state, response))
        state.update(_new_turn(prompt))
        return prompt

    return str(session.change(store))


def _note_project(event: dict[str, Any], settings: Settings, session: Session) -> str:
    """Return the name of the project that is open, stored in the state of the session."""
    from hook_project import project_name

    cwd = str(event.get("cwd") or "")
    folder = settings.project or session.read().get("project") or cwd
    name = project_name(cwd, str(folder), settings.home)
    if name != session.read().get("project_name", ""):
        session.update(project_name=name)
    return name


def _start_without_prompt(state: dict[str, Any]) -> None:
    """Begin the turn of a machine notice: its answer is remembered, without a query.

    A notice in the middle of the user's turn changes nothing.
    """
    if not state.get("prompt"):
        state.update(_new_turn(None))


def _new_turn(prompt: str | None) -> dict[str, Any]:
    """Return the state at the start of a turn.

    None as prompt means a machine notice, an empty one a turn that is not to be stored.
    """
    return {
        "prompt": prompt,
        "is_notice": prompt is None,
        "is_private": prompt == "",
        "at": now(),
        "draft": None,
        "answer": None,
        "blocked": False,
        REVISION_REQUEST: None,
        "recalled": [],
        "results": [],
        "span": 0,
        "cubes": [],
        "facts": [],
        "tasks": [],
    }


def _is_command(prompt: str) -> bool:
    """Return True for a command of the agent, such as /compact."""
    return prompt.startswith("/") and not any(character.isspace() for character in prompt.strip())


class Recalled:
    """The items of a search's answer: those the context has already, and new ones that fit."""

    def __init__(self, results: dict[str, Any], state: dict[str, Any], tokens: int) -> None:
        from remembrancer_protocol.fence import data_line
        from remembrancer_protocol.recalled import answer_items

        pack, earlier = state.get("start_pack") or "", state.get("shown") or []
        pack_ids = frozenset(
            one.get("fact_id") or one.get("instruction_id")
            for one in [*(results.get("facts") or []), *(results.get("instructions") or [])]
            if f"{data_line(one['text'])[1:]}\n" in pack  # behind its date
        )
        items = answer_items(results, in_context=pack_ids)
        self.new: list[str] = []
        self.omitted = 0
        # With those shown before: a reply may claim from them.
        self.in_context = [item for item in answer_items(results) if item not in items]
        self.repeated: list[str] = []  # first lines of those shown before
        characters = 4 * tokens
        for item in items:
            if _digest(item) in earlier:
                self.repeated.append(item.split("]")[0].lstrip("["))
                self.in_context.append(item)
            elif self.new and len(item) > characters:
                self.omitted += 1
            else:
                self.new.append(item)
                self.in_context.append(item)
                characters -= len(item)
        self.shown = [*earlier, *map(_digest, self.new)][-SHOWN_MAX:]

    def text(self) -> str:
        """Return the new items, fenced, for the model, and the names of those shown before."""
        from remembrancer_protocol.recalled import fenced_items

        lines = [fenced_items(self.new)]
        if self.omitted:
            lines.append(f"{self.omitted} more did not fit; `recall` shows them.")
        if self.repeated:
            lines.append(f"Recalled before in this session: {', '.join(self.repeated)}.")
        return "\n".join(line for line in lines if line)


def _digest(item: str) -> str:
    """Return a short digest of an item; of a cube without its last line, about the search."""
    if item.startswith("[cube "):
        item = item.rpartition("\n")[0]
    return f"{zlib.crc32(item.encode()):x}-{len(item)}"


def check_permissions(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Deny a tool call that accesses system files without a grant.

    The answer is empty for any other call: the user's own rules decide if it runs.
    """
    if event.get("tool_name") in SUBAGENT_TOOLS and not settings.is_off:
        _note_task(event, session)
    if settings.gate == "off":
        return {}
    checks = []
    for path, action in _targets(event, settings, session):
        body = {"path": path, "action": action, "agent": settings.agent_name}
        try:
            answer = service.post("/api/v7/sysperm/check", body)
        except (InvalidSetupError, ServiceUnreachableError, ServiceError) as error:
            if settings.permissions == "open" and not isinstance(error, ServiceError):
                return {}
            reason = (
                f"The permission of `{settings.agent_name}` to {action} {path} could not be "
                f"checked: {error}. The call is denied."
            )
            return hook_output.denial(settings.agent, reason)
        if answer.get("allowed") is not True:
            reason = _missing_grant(settings.agent_name, action, path)
            return hook_output.denial(settings.agent, reason)
        checks.append({"grant_id": answer["grant_id"], "path": answer["path"], "action": action})
    if checks:
        call_id = _call_id(event)
        session.change(lambda state: state.setdefault("checked", {}).update({call_id: checks}))
    return {}


def _targets(event: dict[str, Any], settings: Settings, session: Session) -> list[tuple[str, str]]:
    """Return the system files that a call accesses, with the actions.

    Raises InvalidSetupError if there are too many.
    """
    from hook_paths import TARGETS_MAX, Location, accessed_paths

    arguments, roots = event.get("tool_input"), event.get("workspace_roots")
    state = session.read()
    cwd = str(event.get("cwd") or state.get("project") or "/")
    projects = [root for root in roots if isinstance(root, str)] if isinstance(roots, list) else []
    if project := settings.project or state.get("project") or cwd:
        projects.append(project)
    targets = accessed_paths(
        str(event.get("tool_name")),
        arguments if isinstance(arguments, dict) else {},
        Location(cwd, projects, settings.home, reads=settings.gate == "all"),
    )
    if len(targets) > TARGETS_MAX:
        raise InvalidSetupError(
            f"one call accesses more than {TARGETS_MAX} system files: split it into several"
        )
    return targets


def _missing_grant(agent_name: str, action: str, path: str) -> str:
    scope = path.replace("(unknown)", "*")  # a part that only a run would show
    return (
        f"No grant lets `{agent_name}` {action} {path}, a system file, now. Do not do it another "
        f"way. Ask the owner to grant it in the service's console: scope `{scope}`, action "
        f"`{action}`, agent `{agent_name}`."
    )


def _call_id(event: dict[str, Any]) -> str:
    """Return an id that is the same before and after a tool call."""
    import json

    if isinstance(event.get("tool_use_id"), str):
        return str(event["tool_use_id"])
    return json.dumps([event.get("tool_name"), event.get("tool_input")], sort_keys=True)


def log_tool_call(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Log the result of a tool call whose permission was checked; store errors and files for the
    next search.
    """
    state = session.read()
    if not settings.is_off:
        _note_work(event, settings, state, session)
    if not state.get("checked"):
        return {}
    checks = session.change(lambda state: state.get("checked", {}).pop(_call_id(event), None))
    outcome = "it failed" if _has_failed(event) else "done"
    _enqueue_logs(session, checks or (), f"{event.get('tool_name')}: {outcome}")
    session.send(service)
    return {}


def _note_work(
    event: dict[str, Any], settings: Settings, state: dict[str, Any], session: Session
) -> None:
    """Store what the next search sends as `work`. Cursor's searches are the agent's own."""
    has_failed = _has_failed(event)
    is_change = event.get("tool_name") in ("Write", "Edit", "MultiEdit", "NotebookEdit")
    if settings.agent != "cursor" and (has_failed or is_change):
        from hook_work import note_call

        note_call(event, state, session, has_failed=has_failed)


def _has_failed(event: dict[str, Any]) -> bool:
    if event.get("hook_event_name") == "PostToolUseFailure":
        return True
    response = event.get("tool_response")
    if not isinstance(response, dict):
        return False
    return bool(
        response.get("is_error")
        or response.get("error")
        or response.get("interrupted")
        or response.get("success") is False
    )


def _enqueue_logs(session: Session, checks: Any, result: str) -> None:
    for check in checks:
        session.enqueue("/api/v7/sysperm/log", {**check, "result": result})


def save(
    event: dict[str, Any], _settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Remember the unfinished turn and send what is queued."""
    from hook_turns import last_text, remember

    state = session.read()
    if state.get("prompt") and not state.get("draft"):
        text = state["answer"] if state.get("answer") else last_text(event, state)
        remember(service, session, text)
    session.send(service)
    return {}


def stop(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Remember the turn, check it with a second look, and vote."""
    from hook_turns import end_turn

    has_checks = bool(session.read().get("checked"))
    unlogged = session.change(lambda state: state.pop("checked", None)) if has_checks else None
    for checks in (unlogged or {}).values():
        _enqueue_logs(session, checks, "The call was allowed; the agent did not report its result.")
    return end_turn(event, settings, service, session)
