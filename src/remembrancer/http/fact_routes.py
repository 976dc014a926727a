"""Endpoints of critical facts: list, add, change, delete."""

from __future__ import annotations

from ..accounts.idempotency import IdempotentRequest
from ..context import Caller, Context
from ..memory.facts.edit import add_fact, change_fact, remove_fact
from ..memory.facts.listing import list_facts, list_instructions
from ..protocol.errors import Conflict, NotFound
from ..protocol.facts import (
    FactAdd,
    FactChange,
    FactList,
    FactRemoved,
    FactsQuery,
    FactStored,
    InstructionList,
)
from .endpoint import AddressedBody, AnyEndpoint, Endpoint, ThreadPool

FACTS = "/api/v7/memory/facts"


def _change(
    context: Context, caller: Caller, call: AddressedBody, idempotency: IdempotentRequest | None
) -> FactStored:
    return change_fact(context, caller, call.id, call.body, idempotency)


ROUTES: tuple[AnyEndpoint, ...] = (
    Endpoint(
        method="GET",
        path=FACTS,
        operation_id="list_facts",
        summary="List facts",
        description="List the critical facts of a user with their history, newest first: those "
        "that hold, or held at `as_of`, or have another status.",
        read=list_facts,
        query=FactsQuery,
        answer=FactList,
        team="reader",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/memory/instructions",
        operation_id="list_instructions",
        summary="List instructions",
        description="List the standing instructions and preferences of a user, newest first: facts "
        "that state one, and sentences recognised in the user's turns. Change and delete them as "
        "facts.",
        read=list_instructions,
        query=FactsQuery,
        answer=InstructionList,
        team="reader",
    ),
    Endpoint(
        method="POST",
        path=FACTS,
        operation_id="add_fact",
        summary="Add a fact",
        description="Store a critical fact without a turn. A fact that gives another value for the "
        "same thing as an earlier one supersedes it; the earlier one stays in the list.",
        write=add_fact,
        body=FactAdd,
        answer=FactStored,
        pool=ThreadPool.WRITE,
        errors=(NotFound, Conflict),
        team="writer",
    ),
    Endpoint(
        method="PATCH",
        path=FACTS + "/{fact_id}",
        operation_id="change_fact",
        summary="Change a fact",
        description="Change the wording, the times or the pin of a fact. Another wording becomes "
        "a new fact, which supersedes this one.",
        write=_change,
        body=FactChange,
        answer=FactStored,
        pool=ThreadPool.WRITE,
        errors=(NotFound, Conflict),
        team="writer",
    ),
    Endpoint(
        method="DELETE",
        path=FACTS + "/{fact_id}",
        operation_id="remove_fact",
        summary="Delete a fact",
        description="Erase the text of a fact for good. Its id and times stay in the list of "
        "removed facts, so that chains of facts stay whole.",
        write=remove_fact,
        answer=FactRemoved,
        pool=ThreadPool.WRITE,
        errors=(NotFound,),
        team="writer",
    ),
)
