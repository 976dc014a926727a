"""Memories of other products: their statements as facts, and the turns that they hold.

The comment above a reader says where its shape was read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import apsw

from ....protocol.sources import USUAL
from .documents import JSON, Sample, Shape, SourceDocument, any_item, entries, whole_objects
from .json_stream import parse
from .records import (
    DialogueMessage,
    DialoguePart,
    DialogueSession,
    Entry,
    EntryInvalid,
    EntryLeftOut,
    ImportRefused,
    MaybeEntry,
    Reason,
    Record,
    content_texts,
    conversation,
    digest,
    each,
    fitting_metadata,
    moment,
    objects,
    one_line,
    readable_id,
    readable_topic,
    spoken,
    start_before,
    statement,
    text_of,
    turn_record,
    turns,
)

# --- mem0: what `get_all` of the library and the platform's list of memories return ---------------
# mem0ai/mem0, mem0/memory/main.py (get_all) and docs/openapi.json (/v1/memories/, /v3/memories/).
# Exports with a schema of one's own have no common shape.

_LISTS = (None, "results", "memories")
_TELLING = frozenset({"user_id", "agent_id", "app_id", "run_id", "created_at"})
_FIELDS = _TELLING | {
    "actor_id", "categories", "expiration_date", "hash", "immutable", "memory", "metadata",
    "replaced_by", "role", "score", "session_id", "updated_at",
}  # fmt: skip


def is_mem0(sample: Sample) -> bool:
    """Return True for memories, alone or in `results`.

    A memory has a text `memory` and an `id`. Without ids, it says whose or of when it is, and each
    object has only fields of mem0: anything else may be data of another product.
    """
    items = [
        one
        for item in sample.items
        for one in (objects(item.get("results")) or objects(item.get("memories")) or [item])
    ]
    return any(
        isinstance(one.get("memory"), str) and "id" in one for one in (*sample.items, *items)
    ) or (bool(items) and all(_is_memory_without_id(one) for one in items))


def _is_memory_without_id(item: dict[str, Any]) -> bool:
    return (
        isinstance(item.get("memory"), str)
        and item.keys() <= _FIELDS
        and not item.keys().isdisjoint(_TELLING)
    )


def read_mem0(document: SourceDocument) -> Iterator[Record]:
    """Yield every memory as a fact.

    Its metadata, categories and the ids of agent, app and run are its metadata. It holds from its
    creation. One that was replaced holds until it was last updated, one with an
    expiration date until that date.
    """
    yield from each(entries(document), _memory)


def _memory(entry: Entry) -> Iterator[Record]:
    memory = entry.value
    if entry.key == "relations":
        raise EntryLeftOut(Reason.RELATION)
    if entry.key not in _LISTS or memory.keys() == {"value"}:
        yield from entry.other()
        return
    own = memory.get("metadata")
    names = ("agent_id", "app_id", "run_id", "categories")
    every = {**(own if isinstance(own, dict) else {}), **{name: memory.get(name) for name in names}}
    metadata, left_out = fitting_metadata(entry, every)
    yield from left_out
    text = memory.get("memory")
    if not isinstance(text, str) or not text.strip():
        raise EntryInvalid("`memory` is not a text")
    created_at, updated_at, ends_at = (
        moment(memory.get(name)) for name in ("created_at", "updated_at", "expiration_date")
    )
    if text_of(memory, "replaced_by"):
        ends_at = min(filter(None, (updated_at or created_at, ends_at)), default=None)
    yield statement(
        entry.place,
        text,
        session=text_of(memory, "run_id", "session_id") or "mem0",
        id=digest("mem0", str(memory.get("id")), text, str(ends_at)),
        user_id=readable_id(text_of(memory, "user_id")),
        valid_from=start_before(created_at, ends_at),
        valid_to=ends_at,
        metadata=metadata,
    )


MEM0 = Shape("mem0", "mem0: memories (get_all, or the platform's list)", JSON, is_mem0, read_mem0)


# --- Zep and Graphiti: messages of sessions, episodes, and edges as facts with their validity -----
# getzep/graphiti: graphiti_core/edges.py (EntityEdge) and nodes.py (EpisodicNode), common.py and
# ingest.py of server/graph_service/dto (Message and AddMessagesRequest), and formatting.py of
# mcp_server/src/utils; for Zep's edges and messages the reference at help.getzep.com.

_FACTS, _EPISODES = ("edges", "facts"), ("episodes",)
_GRAPHITI_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_GRAPHITI_OTHERS = {
    "system": Reason.SYSTEM,
    "norole": Reason.SYSTEM,
    "tool": Reason.TOOL_RESULT,
    "function": Reason.TOOL_RESULT,
}
# "Ada(user): text" or "user: text", as Graphiti writes messages into episodes
_SPOKEN = re.compile(
    r"(?:[^\n():]{0,100}\((user|assistant|system)\)|(user|assistant|system|human|ai))\s*:\s*(.*)",
    re.DOTALL | re.IGNORECASE,
)


def is_graphiti(item: dict[str, Any]) -> bool:
    """Return True for an edge, an episode, or a session of messages with `role_type`."""
    return (
        _is_edge(item)
        or _is_episode(item)
        or _is_session(item)
        or any(_is_edge(one) for key in _FACTS for one in objects(item.get(key)))
        or any(_is_episode(one) for key in _EPISODES for one in objects(item.get(key)))
    )


def _is_edge(item: dict[str, Any]) -> bool:
    return isinstance(item.get("fact"), str) and "source_node_uuid" in item


def _is_episode(item: dict[str, Any]) -> bool:
    return (
        isinstance(item.get("content"), str) and "source_description" in item and "source" in item
    )


def _is_session(item: dict[str, Any]) -> bool:
    messages = objects(item.get("messages"))
    has_name = any(key in item for key in ("session_id", "thread_id", "group_id"))
    return bool(messages) and (
        any("role_type" in one for one in messages)
        or (has_name and any("uuid" in one and "content" in one for one in messages))
    )


def read_graphiti(document: SourceDocument) -> Iterator[Record]:
    """Yield edges as facts, and messages and episodes as turns.

    A fact holds from `valid_at` (else the episode's or the edge's own time) to `invalid_at` (else
    `expired_at`).
    """
    if any(_is_session(item) for item in document.sample().items):
        yield from each(whole_objects(document), _session)
    else:
        yield from each(entries(document), _edge_or_episode)


def _edge_or_episode(entry: Entry) -> Iterator[Record]:
    if entry.key in _FACTS or (entry.key is None and _is_edge(entry.value)):
        yield from _edge(entry)
    elif entry.key in _EPISODES or (entry.key is None and _is_episode(entry.value)):
        yield from _episode(entry)
    elif entry.key in ("nodes", "communities"):
        yield entry.left_out(Reason.DERIVED)
    elif entry.key is None:
        yield entry.invalid("expected an edge or an episode")
    else:
        yield from entry.other()


def _edge(entry: Entry) -> Iterator[Record]:
    edge = entry.value
    if not text_of(edge, "fact"):
        raise EntryInvalid("`fact` is not a text")
    names = ("valid_at", "invalid_at", "expired_at", "reference_time", "created_at")
    times = {name: moment(edge.get(name)) for name in names}
    ends = times["invalid_at"] or times["expired_at"]
    starts = times["valid_at"] or times["reference_time"] or times["created_at"]
    if not times["valid_at"] or times["invalid_at"] is None:
        starts = start_before(starts, ends)
    group = text_of(edge, "group_id")
    yield statement(
        entry.place,
        edge["fact"],
        session=group or "graphiti",
        id=digest("graphiti", text_of(edge, "uuid"), edge["fact"], str(ends)),
        user_id=readable_id(group),
        valid_from=starts,
        valid_to=ends,
    )


def _episode(entry: Entry) -> Iterator[Record]:
    episode = entry.value
    at = moment(episode.get("valid_at") or episode.get("created_at"))
    content = text_of(episode, "content")
    if not content:
        raise EntryInvalid("`content` is not a text")
    spoken = _SPOKEN.match(content) if episode.get("source") == "message" else None
    role = (spoken[1] or spoken[2]).lower() if spoken else ""
    if role == "system":
        raise EntryLeftOut(Reason.SYSTEM)
    is_answer = spoken is None or _GRAPHITI_ROLES[role] == "assistant"
    text = spoken[3] if spoken else content
    group = text_of(episode, "group_id")
    yield turn_record(
        entry.place,
        query="" if is_answer else text,
        response=text if is_answer else "",
        source=USUAL if spoken else "import",
        id=digest("graphiti", text_of(episode, "uuid"), content),
        session=group or "graphiti",
        user_id=readable_id(group),
        topic=readable_topic(episode.get("name")),
        occurred_at=at,
    )


def _session(entry: Entry) -> Iterator[Record]:
    session = DialogueSession(
        shape="graphiti",
        key=text_of(entry.value, "session_id", "thread_id", "group_id") or "zep",
        user_id=readable_id(text_of(entry.value, "user_id", "group_id")),
    )
    yield from conversation(entry, "messages", _message, session)
    yield from each(_parts(entry, "facts", "fact"), _edge)


def _parts(entry: Entry, name: str, label: str) -> Iterator[Entry]:
    """Yield the objects in a list of an entry; their places have the label and a number."""
    for number, value in enumerate(objects(entry.value.get(name)), 1):
        yield Entry(place=f"{entry.place}, {label} {number}", value=value)


def _message(entry: Entry) -> Iterator[DialoguePart]:
    message = entry.value
    kind = text_of(message, "role_type", "role").lower()
    if kind in _GRAPHITI_OTHERS:
        yield entry.left_out(_GRAPHITI_OTHERS[kind])
    elif kind not in _GRAPHITI_ROLES or not isinstance(message.get("content"), str):
        yield entry.invalid("a message needs `role_type` and `content`")
    else:
        key = text_of(message, "uuid") or entry.place.rpartition(" ")[2]
        at = message.get("timestamp") or message.get("created_at")
        yield from spoken(entry, _GRAPHITI_ROLES[kind], message["content"], key=key, at=at)


GRAPHITI = Shape(
    "graphiti",
    "Zep and Graphiti: sessions with messages, episodes, edges",
    JSON,
    any_item(is_graphiti),
    read_graphiti,
)


# --- Hindsight: the archive of a bank or of documents, and lists of memories ----------------------
# vectorize-io/hindsight, hindsight-api-slim/hindsight_api/engine/transfer/schema.py and export.py
# (archive: manifest.json, documents/*.json, observations.json) and hindsight_api/api/http.py
# (ListMemoryUnitsResponse).


def is_hindsight(item: dict[str, Any]) -> bool:
    """Return True for a manifest, a document of an archive, an observation, or listed memories."""
    return (
        "source_bank_id" in item
        or _is_document(item)
        or (isinstance(item.get("text"), str) and "proof_count" in item)
        or any(map(_is_unit, [item, *objects(item.get("items"))]))
    )


def _is_document(item: dict[str, Any]) -> bool:
    parts = (item.get("chunks"), item.get("facts"))
    return "original_text" in item and any(isinstance(part, list) for part in parts)


def _is_unit(item: dict[str, Any]) -> bool:
    return isinstance(item.get("text"), str) and (
        {"context", "type", "date"} <= item.keys() or {"context", "fact_type"} <= item.keys()
    )


def bank_of(document: SourceDocument) -> str | None:
    """Return the bank that a manifest names, as a user_id; None for another document."""
    for item in document.sample().items:
        if "source_bank_id" in item:
            return readable_id(str(item["source_bank_id"]))
    return None


def read_hindsight(document: SourceDocument, bank: str | None = None) -> Iterator[Record]:
    """Yield facts and observations as facts, and chunks of documents as turns.

    `bank` is the user_id of all. A fact holds from the time it happened (`occurred_start`), else
    from the time it was mentioned.
    """
    items = document.sample().items
    if any("source_bank_id" in item for item in items):
        return
    if any(map(_is_document, items)):
        yield from each(whole_objects(document), partial(_chunks_and_facts, bank))
        return
    yield from each(entries(document), partial(_fact, bank, "hindsight"))


def _chunks_and_facts(bank: str | None, entry: Entry) -> Iterator[Record]:
    document, key = entry.value, str(entry.value.get("id"))
    at = moment(document.get("created_at"))
    texts = [text_of(chunk, "chunk_text") for chunk in objects(document.get("chunks"))]
    texts = texts or [text_of(document, "original_text")]
    for number, text in enumerate(texts, 1):
        if text:
            yield turn_record(
                f"{entry.place}, chunk {number}",
                query="",
                response=text,
                id=digest("hindsight", bank or "", key, str(number), text),
                session=key,
                user_id=bank,
                occurred_at=at,
            )
    yield from each(_parts(entry, "facts", "fact"), partial(_fact, bank, key))


def _fact(bank: str | None, session: str, entry: Entry) -> Iterator[Record]:
    text = text_of(entry.value, "text")
    if entry.key not in (None, "items"):
        yield from entry.other()
        return
    if not text:
        raise EntryInvalid("`text` is not a text")
    names = ("occurred_start", "mentioned_at", "event_date", "date", "created_at")
    times = (moment(entry.value.get(name)) for name in names)
    yield statement(
        entry.place,
        text,
        session=session,
        id=digest("hindsight", bank or "", session, text),
        user_id=bank,
        valid_from=next(filter(None, times), None),
    )


HINDSIGHT = Shape(
    "hindsight",
    "Hindsight: archive of a bank or of documents, or listed memories",
    r"\.json",
    any_item(is_hindsight),
    read_hindsight,
)


# --- Letta: agent files (.af), and what the API of its server lists: messages, blocks, passages ---
# letta-ai/letta before it was archived: letta/schemas/agent_file.py, letta_message.py and
# passage.py, server/rest_api/routers/v1/agents.py (list_messages, list_passages), and
# letta-ai/agent-file, memgpt_agent/memgpt_agent_with_convo.af.

_ANSWER_TOOL = "send_message"
_USER_MESSAGE = "user_message"
_LISTED = {"user_message": "user", "assistant_message": "assistant"}  # messages that the API lists
_LISTED_OTHERS = {
    "system_message": Reason.SYSTEM,
    "reasoning_message": Reason.THINKING,
    "hidden_reasoning_message": Reason.THINKING,
    "tool_call_message": Reason.TOOL_CALL,
    "tool_return_message": Reason.TOOL_RESULT,
    "approval_request_message": Reason.TOOL_CALL,
    "approval_response_message": Reason.TOOL_CALL,
}
_LETTA_OTHERS = {"system": Reason.SYSTEM, "summary": Reason.MACHINE}  # roles; default: of a tool
# Agents of these types answer with a tool; what they write beside it is thinking.
_SPEAKS_BY_TOOL = ("memgpt_agent", "memgpt_v2_agent", "sleeptime_agent", "split_thread_agent")


def is_letta(item: dict[str, Any]) -> bool:
    """Return True for `agents` with `messages`, for `blocks` with a `label`, and for a block, a
    passage or a message with a `message_type`.
    """
    return (
        any(isinstance(agent.get("messages"), list) for agent in objects(item.get("agents")))
        or any(map(_is_block, [item, *objects(item.get("blocks"))]))
        or _is_passage(item)
        or item.get("message_type") in (*_LISTED, *_LISTED_OTHERS)
    )


def _is_block(item: dict[str, Any]) -> bool:
    return isinstance(item.get("label"), str) and isinstance(item.get("value"), str)


def _is_passage(item: dict[str, Any]) -> bool:
    return isinstance(item.get("text"), str) and "embedding_config" in item


def read_letta(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of agents, blocks as facts "label: value", and passages as facts."""
    if any("message_type" in item for item in document.sample().items):
        session = DialogueSession(shape="letta", key=PurePosixPath(document.base).stem)
        yield from turns(each(_oldest_first(document), _listed_message), session)
    else:
        yield from each(entries(document), _letta)


def _oldest_first(document: SourceDocument) -> list[MaybeEntry]:
    """Return listed messages as they were said: by default the API lists the newest first."""
    listed = list(entries(document))
    dates = [text_of(one.value, "date") for one in listed if isinstance(one, Entry)]
    return listed[::-1] if dates and dates[0] > dates[-1] else listed


def _listed_message(entry: Entry) -> Iterator[DialoguePart]:
    kind = text_of(entry.value, "message_type")
    if kind not in _LISTED:
        raise EntryLeftOut(_LISTED_OTHERS.get(kind, Reason.MACHINE))
    text, left_out = content_texts(entry, entry.value.get("content"))
    key, at = text_of(entry.value, "id"), entry.value.get("date")
    yield from spoken(entry, _LISTED[kind], text, left_out, key=key, at=at)


def _letta(entry: Entry) -> Iterator[Record]:
    if entry.key == "agents":
        yield from _agent(entry)
    elif entry.key not in (None, "blocks"):
        yield from entry.other()
    elif _is_passage(entry.value):
        yield from _passage(entry)
    else:
        yield _block(entry)


def _passage(entry: Entry) -> Iterator[Record]:
    passage, text = entry.value, entry.value["text"]
    own = passage.get("metadata")
    every = {**(own if isinstance(own, dict) else {}), "tags": passage.get("tags")}
    metadata, left_out = fitting_metadata(entry, every)
    yield from left_out
    if not text.strip():
        raise EntryLeftOut(Reason.EMPTY)
    at, key = moment(passage.get("created_at")), digest("letta", text_of(passage, "id"), text)
    yield statement(entry.place, text, session="letta", id=key, valid_from=at, metadata=metadata)


def _block(entry: Entry) -> Record:
    block = entry.value
    if not _is_block(block):
        return entry.invalid("a block needs a `label` and a `value`")
    if block.get("is_template"):
        return entry.left_out(Reason.TEMPLATE)
    if not block["value"].strip():
        return entry.left_out(Reason.EMPTY)
    at = moment(block.get("updated_at", block.get("created_at")))
    text = f"{block['label']}: {block['value'].strip()}"
    fields = {"topic": readable_topic(block["label"]), "id": digest("letta", text)}
    return statement(entry.place, text, session="letta", valid_from=at, **fields)


def _agent(entry: Entry) -> Iterator[Record]:
    agent = entry.value
    name = text_of(agent, "name") or text_of(agent, "id") or "letta"
    if text_of(agent, "system"):
        yield entry.left_out(Reason.SYSTEM)
    read = partial(_agent_message, speaks_by_tool=agent.get("agent_type") in _SPEAKS_BY_TOOL)
    session = DialogueSession(shape="letta", key=name, topic=readable_topic(name))
    yield from conversation(entry, "messages", read, session)


def _agent_message(entry: Entry, *, speaks_by_tool: bool) -> Iterator[DialoguePart]:
    message, role = entry.value, text_of(entry.value, "role")
    if role not in ("user", "assistant"):
        raise EntryLeftOut(_LETTA_OTHERS.get(role, Reason.TOOL_RESULT))
    text, left_out = content_texts(entry, message.get("content"))
    yield from left_out
    if role == "user":
        text = _typed(text)
        if not text:
            raise EntryLeftOut(Reason.MACHINE)
    else:
        answer, calls = _answers(message)
        yield from [entry.left_out(Reason.TOOL_CALL)] * calls
        if text.strip() and (answer or speaks_by_tool):
            yield entry.left_out(Reason.THINKING)
            text = ""
        text = answer or text
        if not text.strip():
            return
    at = moment(message.get("created_at"))
    key = digest(text_of(message, "id"), text_of(message, "created_at"))
    yield DialogueMessage(place=entry.place, role=role, text=text, id=key, at=at)


def _typed(text: str) -> str:
    """Return the user's words: Letta packs them into JSON, as it does with its own notices."""
    try:
        packed = parse(text) if text.lstrip().startswith("{") else None
    except ValueError:
        packed = None
    if not isinstance(packed, dict) or "type" not in packed:
        return text
    return text_of(packed, "message") if packed["type"] == _USER_MESSAGE else ""


def _answers(message: dict[str, Any]) -> tuple[str, int]:
    """Return what the agent sent to the user with its tool, and the number of other tool calls."""
    texts, others = [], 0
    for call in objects(message.get("tool_calls")):
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        answer = ""
        if function.get("name") == _ANSWER_TOOL:
            try:
                arguments = json.loads(str(function.get("arguments")))
            except (ValueError, RecursionError):
                arguments = None
            answer = text_of(arguments, "message") if isinstance(arguments, dict) else ""
        if answer:
            texts.append(answer)
        else:
            others += 1
    return "\n\n".join(texts), others


LETTA = Shape(
    "letta",
    "Letta: agent file (.af), or listed messages, blocks or passages",
    r"\.(af|json)",
    any_item(is_letta),
    read_letta,
)


# --- claude-mem: its export (JSON) and its database (SQLite) --------------------------------------
# thedotmack/claude-mem, scripts/export-memories.ts, src/types/database.ts,
# src/services/sqlite/types.ts and src/services/sqlite/SessionStore.ts (tables).

_SUMMARY_PARTS = ("investigated", "learned", "completed", "next_steps", "notes")
_VALUE_BYTES_MAX = 64 << 20  # of one value in the database


def is_claude_mem(item: dict[str, Any]) -> bool:
    """Return True for an export with `observations` or `prompts` and sessions."""
    return any(
        "memory_session_id" in one or "content_session_id" in one
        for key in ("observations", "summaries", "prompts", "sessions")
        for one in objects(item.get(key))
    )


def is_claude_mem_database(document: SourceDocument) -> bool:
    """Return True if a SQLite file has claude-mem's tables."""
    return document.path is not None and {"observations", "sdk_sessions"} <= set(
        _tables(_open(document))
    )


def read_claude_mem(document: SourceDocument) -> Iterator[Record]:
    """Yield the facts of observations as facts; narratives, summaries and prompts as turns."""
    is_database = document.sample().layout == "sqlite"
    yield from each(_rows(document) if is_database else entries(document), _claude_mem_record)


def _claude_mem_record(entry: Entry) -> Iterator[Record]:
    """Yield the records of a row of a table, or of an object in a member of the export."""
    if entry.key == "sessions":
        yield entry.left_out(Reason.SESSION)
    elif read := _CLAUDE_MEM.get(entry.key or ""):
        at = moment(entry.value.get("created_at_epoch") or entry.value.get("created_at"))
        yield from read(entry, at)
    else:
        yield from entry.other()


def _observation(entry: Entry, at: datetime | None) -> Iterator[Record]:
    record = entry.value
    title, session = text_of(record, "title"), text_of(record, "memory_session_id")
    key = digest(session, str(record.get("created_at_epoch")), title)
    facts = _strings(record.get("facts"))
    prose = text_of(record, "narrative", "text")
    if not facts and not prose:
        facts = [" — ".join(filter(None, (title, text_of(record, "subtitle"))))]
    for number, text in enumerate(facts, 1):
        if text.strip():
            yield statement(
                f"{entry.place}, fact {number}",
                text,
                session=session,
                topic=readable_topic(title),
                id=digest("claude-mem", key, text),
                valid_from=at,
            )
        elif len(facts) == 1 and not prose:
            yield entry.invalid("the observation has no text")
    if prose:
        yield turn_record(
            entry.place,
            query="",
            response=f"{title}\n\n{prose}" if title else prose,
            id=digest("claude-mem", key, prose),
            session=session,
            topic=readable_topic(title) or readable_topic(record.get("project")),
            occurred_at=at,
        )


def _strings(value: object) -> list[str]:
    """Return the strings of a list, which the database holds as JSON text."""
    if isinstance(value, str):
        try:
            value = parse(value)
        except ValueError:
            return []
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _summary(entry: Entry, at: datetime | None) -> Iterator[Record]:
    record = entry.value
    session, request = text_of(record, "memory_session_id"), text_of(record, "request")
    parts = [
        f"{name.replace('_', ' ').capitalize()}: {text}"
        for name in _SUMMARY_PARTS
        if (text := text_of(record, name))
    ]
    if not parts and not request:
        raise EntryLeftOut(Reason.EMPTY)
    response = "\n\n".join(parts)
    yield turn_record(
        entry.place,
        query=request,
        response=response,
        id=digest("claude-mem", session, "summary", request, response),
        session=session,
        topic=readable_topic(record.get("project")),
        occurred_at=at,
    )


def _prompt(entry: Entry, at: datetime | None) -> Iterator[Record]:
    record = entry.value
    session, text = text_of(record, "content_session_id"), text_of(record, "prompt_text")
    if not text:
        raise EntryInvalid("`prompt_text` is not a text")
    yield turn_record(
        entry.place,
        query=text,
        response="",
        source=USUAL,
        id=digest("claude-mem", session, str(record.get("prompt_number")), text),
        session=session,
        topic=readable_topic(record.get("project")),
        occurred_at=at,
    )


# Tables, and members of the export.
_CLAUDE_MEM: Mapping[str, Callable[[Entry, datetime | None], Iterator[Record]]] = {
    "observations": _observation,
    "summaries": _summary,
    "session_summaries": _summary,
    "prompts": _prompt,
    "user_prompts": _prompt,
}


CLAUDE_MEM = Shape(
    "claude-mem",
    "claude-mem: export (JSON) or database (SQLite)",
    r"\.(json|db|sqlite|sqlite3)",
    any_item(is_claude_mem),
    read_claude_mem,
)


def _open(document: SourceDocument) -> apsw.Connection:
    """Open a database read-only. Its schema is not trusted: it may come from anywhere."""
    path = document.path
    assert path is not None  # `is_claude_mem_database` refuses members of archives
    # Without a log nobody writes to it: "immutable" reads it without making files beside it.
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    try:
        database = apsw.Connection(
            f"{path.absolute().as_uri()}?{mode}",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        )
        database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES_MAX)
    except apsw.Error as error:
        raise ImportRefused(f"{document.place}: {one_line(error)}") from error
    return database


def _tables(database: apsw.Connection) -> list[str]:
    try:
        rows = database.execute("select name from sqlite_master where type = 'table'").fetchall()
    except (apsw.Error, UnicodeDecodeError):
        return []
    finally:
        database.close()
    return [str(row[0]) for row in rows]


def _rows(document: SourceDocument) -> Iterator[Entry]:
    tables = _tables(_open(document))
    database, where = _open(document), document.place
    try:
        for table in ("observations", "session_summaries", "user_prompts"):
            if table not in tables:
                continue  # a view of that name could compute anything, and without end
            cursor = database.execute(f"select * from {table} order by rowid")  # noqa: S608 - a constant
            names: list[str] = []
            for number, row in enumerate(cursor, 1):
                names = names or [str(column[0]) for column in cursor.get_description()]
                where = f"{document.place}, {table} {number}"
                yield Entry(place=where, value=dict(zip(names, row, strict=True)), key=table)
    except UnicodeDecodeError as error:
        raise ImportRefused(f"{where} is not UTF-8, or the one after it") from error
    except apsw.Error as error:
        raise ImportRefused(f"{where}: {one_line(error)}") from error
    finally:
        database.close()
