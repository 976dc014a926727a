"""Messages for arguments that other memory libraries have and the plain verbs do not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel

# By the argument, or by verb and argument where the answer differs.
_HINTS = {
    "limit": "it is an iterator: take as many items as you need",
    "search limit": "the number of hits is `top_k`",
    "threshold": "the least score of a hit is `min_score`",
    "rerank": '`depth="deep"` lets the reranker of the service order the hits',
    "filters": "name the user in `user_id`, the session in `session_id`",
    "search filters": "name the user in `user_id`, the time in `after` and `before`; a search "
    "covers all sessions of the user",
    "search session_id": "a search covers all sessions of the user",
    "search run_id": "a search covers all sessions of the user; elsewhere, run_id is `session_id`",
    "run_id": "it is `session_id` here",
    "thread_id": "it is `session_id` here",
    "metadata": "a turn has no other fields than `topic`, `session_id` and its times, because all "
    "of its text is searched: write what matters into the text, or store a fact with `add_fact`",
    "infer": "no model reads what is stored, and the words themselves are kept: leave it out",
    "prompt": "no model reads what is stored: leave it out",
    "memory_type": "what is stored is a turn; `add_fact` stores a fact",
    "agent_id": "memory belongs to users: give each agent a `user_id` of its own, or a key of "
    "another account",
    "app_id": "memory belongs to users: give each program an account with a key of its own",
    "data": "the new words are `text`",
    "memory_id": "the id comes first, without a name",
    "messages": "the content comes first, without a name",
    "api_key": "it is `key` here",
    "host": "the address is `base_url`, and `key` is the key for it",
    "url": "the address is `base_url`, and `key` is the key for it",
    "org_id": "the key names its account: leave it out",
    "project_id": "the key names its account: leave it out",
}
_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")


def unknown_arguments(call: str, names: Iterable[str], parameters: Iterable[str] = ()) -> str:
    """Return the message for arguments that a call does not have, each with what to use.

    `parameters` are the names that it has, for arguments without a hint.
    """
    sentences = []
    for name in sorted(names):
        hint = _HINTS.get(f"{call} {name}") or _HINTS.get(name)
        sentences.append(f"{call}() takes no {name}{f': {hint}' if hint else ''}.")
        if not hint and parameters:
            sentences.append(f"It takes {', '.join(parameters)}.")
    return " ".join(sentences)


def wrong_call(
    call: str,
    error: TypeError,
    positional: Sequence[Any],
    named: Mapping[str, Any],
    parameters: Sequence[str],
) -> str:
    """Return the message for a call that does not fit the signature.

    `error` is Python's own, and `parameters` are the names that the call has, in order.
    """
    unknown = [name for name in named if name not in parameters]
    if unknown and _UNKNOWN.search(str(error)):
        return unknown_arguments(call, unknown, parameters)
    if "positional argument" in str(error) and "takes" in str(error) and len(positional) > 1:
        return (
            f"{call}() takes only its first arguments without names. Name the others, as in "
            f'{call}(…, user_id="mia").'
        )
    return str(error)


def check_messages(
    build: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Raise TypeError, with the call to write, if a message is given as something else."""
    models = _models(build)
    for name, value in (*zip(models, args, strict=False), *named.items()):
        model, is_optional = models.get(name, (None, True))
        # a message of the other package (`remembrancer`, `remembrancer_client`) will do
        if model is None or isinstance(value, BaseModel) or (value is None and is_optional):
            continue
        required = [field for field, info in model.model_fields.items() if info.is_required()]
        fields = ", ".join(f"{field}=…" for field in required) or "…"
        raise TypeError(
            f"{build.__name__}() takes a {model.__name__} of {model.__module__}, not a "
            f"{type(value).__name__}: {build.__name__}({model.__name__}({fields}))"
        )


@cache
def _models(build: Callable[..., Any]) -> dict[str, tuple[type[BaseModel] | None, bool]]:
    """Return the message that each parameter takes, and whether it may be None, in order."""
    hints = get_type_hints(build)
    models = {}
    for name in inspect.signature(build).parameters:
        kinds = get_args(hints[name]) or (hints[name],)
        model = next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)
        models[name] = (model, type(None) in kinds)
    return models
