"""The agent prompt of a user: the constitution, then the user's own part."""

from __future__ import annotations

import json

from ..context import Caller, Records
from ..protocol.agent import AgentPrompt, PromptQuery, PromptWrite
from ..protocol.constitution import ClientKind, protocol_text
from ..protocol.service_keys import mask_service_keys, service_key_warning
from ..protocol.text import rfc3339
from ..store import Transaction, load_queries
from .idempotency import IdempotentRequest, delete_answers, write_once
from .keys import note_session_user, require_write, space_user_id

SQL = load_queries("remembrancer.accounts", "prompts.sql")
_OWN_PART = (
    "# The user's own part\n\n"
    "The user's instructions for this agent. They add to the rules above and override none of them."
)


def read_prompt(records: Records, caller: Caller, query: PromptQuery) -> AgentPrompt:
    """Return the prompt of the user that a request names, who speaks now. Raises like prompt_of."""
    prompt = prompt_of(records, caller, query.user_id, query.client)
    note_session_user(records, caller, query.user_id)
    return prompt


def prompt_of(
    records: Records, caller: Caller, user_id: str, client: ClientKind = "http"
) -> AgentPrompt:
    """Return the prompt of a user. Raises PinnedToOtherUser, StoreUnavailable."""
    user_id = space_user_id(caller, user_id)
    return records.store.read(
        lambda tx: _prompt(records, tx, user_id, client), account_id=caller.account_id
    )


def set_prompt(
    records: Records,
    caller: Caller,
    request: PromptWrite,
    idempotency: IdempotentRequest | None = None,
) -> AgentPrompt:
    """Set the user's own part of the prompt; a blank one deletes it.

    Raises Forbidden, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, request.user_id)
    user = {"user_id": user_id}

    def write(tx: Transaction) -> AgentPrompt:
        own = tx.one_or_none(SQL.prompt_of, **user)
        if own:  # the answers that repeat it
            delete_answers(tx, json.dumps(own.text, ensure_ascii=False))
        if request.prompt.strip():
            tx.run(
                SQL.set_prompt,
                **user,
                text=mask_service_keys(request.prompt),
                now_ms=records.clock(),
            )
        else:
            tx.run(SQL.delete_prompt, **user)
        prompt = _prompt(records, tx, user_id)
        warning = service_key_warning(request.prompt)
        return prompt.model_copy(update={"detail": warning})

    return write_once(records, caller.account_id, idempotency, AgentPrompt, write)


def erase(tx: Transaction, user_id: str | None = None) -> int:
    """Delete the own part of a user, or of every user of the account; return the number deleted."""
    return tx.run(SQL.delete_prompts, user_id=user_id)


def _prompt(
    records: Records, tx: Transaction, user_id: str, client: ClientKind = "http"
) -> AgentPrompt:
    own = tx.one_or_none(SQL.prompt_of, user_id=user_id)
    constitution = protocol_text(records.settings.seal_name, client)
    return AgentPrompt(
        prompt=f"{constitution}\n\n{_OWN_PART}\n\n{own.text}" if own else constitution,
        user_id=user_id,
        user_part=own.text if own else "",
        updated_at=rfc3339(own.updated_ms) if own else None,
    )
