"""The agent prompt of a user: the constitution, then what the user adds to it."""

from __future__ import annotations

from ..context import Caller, Records
from ..protocol.constitution import protocol_text
from ..protocol.prompts import AgentPrompt, PromptQuery, PromptWrite
from ..protocol.text import rfc3339
from ..store import Transaction, load_queries
from .idempotency import IdempotentRequest, idempotent
from .keys import require_write, space_user_id

SQL = load_queries("remembrancer.accounts", "prompts.sql")
_OWN_PART = "# The user's own part\n\nWhat the user wants of this agent. It adds to the rules above and lifts none of them."


def read_prompt(records: Records, caller: Caller, query: PromptQuery) -> AgentPrompt:
    """Return the prompt of the user that a request names. Raises as prompt_of."""
    return prompt_of(records, caller, query.user_id)


def prompt_of(records: Records, caller: Caller, user_id: str) -> AgentPrompt:
    """The prompt of a user. Raises Pinned, StoreUnavailable."""
    user_id = space_user_id(caller, user_id)
    return records.store.read(
        lambda tx: _prompt(records, tx, caller, user_id), account_id=caller.account_id
    )


def set_prompt(
    records: Records, caller: Caller, asked: PromptWrite, given: IdempotentRequest | None = None
) -> AgentPrompt:
    """Set the user's own part of the prompt; a blank one takes it away.

    Raises Forbidden, Conflict as `once`, StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, asked.user_id)
    whose = {"account_id": caller.account_id, "user_id": user_id}

    def make(tx: Transaction) -> str:
        if asked.prompt.strip():
            tx.run(SQL.set_prompt, **whose, text=asked.prompt, now_ms=records.clock())
        else:
            tx.run(SQL.delete_prompt, **whose)
        return _prompt(records, tx, caller, user_id).model_dump_json()

    return AgentPrompt.model_validate_json(
        records.store.write(
            lambda tx: idempotent(tx, given, records.clock(), lambda: make(tx)),
            account_id=caller.account_id,
        )
    )


def erase(tx: Transaction, account_id: int, user_id: str | None = None) -> int:
    """Take away the own part of a user, or of every user of the account; how many there were."""
    return tx.run(SQL.delete_prompts, account_id=account_id, user_id=user_id)


def _prompt(records: Records, tx: Transaction, caller: Caller, user_id: str) -> AgentPrompt:
    own = tx.one_or_none(SQL.prompt_of, account_id=caller.account_id, user_id=user_id)
    whole = protocol_text(records.settings.seal_name)
    return AgentPrompt(
        prompt=f"{whole}\n\n{_OWN_PART}\n\n{own.text}" if own else whole,
        user_id=user_id,
        user_part=own.text if own else "",
        updated_at=rfc3339(own.updated_ms) if own else None,
    )
