"""The agent prompt: the constitution and the user's own part, per user and account."""

from __future__ import annotations

from dataclasses import replace

import pytest
from service import new_key

from remembrancer import testing
from remembrancer.accounts import KeyIsReadOnly, PinnedToOtherUser, caller_for
from remembrancer.accounts.keys import authenticate
from remembrancer.accounts.prompts import prompt_of, set_prompt
from remembrancer.context import Caller, Context
from remembrancer.protocol.agent import PromptWrite
from remembrancer.protocol.constitution import protocol_text

CONSTITUTION = protocol_text("REM")


@pytest.fixture
def ada(context: Context) -> Caller:
    """The owner."""
    return authenticate(context, new_key(context, "ada"))


def write(context: Context, caller: Caller, text: str, user_id: str | None = None) -> None:
    set_prompt(context, caller, PromptWrite(prompt=text, user_id=user_id))


def test_prompt_without_a_user_part_is_the_constitution(context: Context, ada: Caller) -> None:
    prompt = prompt_of(context, ada, "bo")

    assert prompt.prompt == CONSTITUTION
    assert (prompt.user_id, prompt.user_part, prompt.updated_at) == ("bo", "", None)


def test_user_part_is_appended_unchanged(context: Context, ada: Caller) -> None:
    write(context, ada, " Answer in Italian.\n\nBo is an architect. ", "bo")
    prompt = prompt_of(context, ada, "bo")

    assert prompt.prompt.startswith(CONSTITUTION)
    assert "# The user's own part" in prompt.prompt[len(CONSTITUTION) :]
    assert prompt.prompt.endswith("\n\n Answer in Italian.\n\nBo is an architect. ")
    assert (prompt.user_part, prompt.updated_at) == (
        " Answer in Italian.\n\nBo is an architect. ",
        "2026-01-01T00:00:00.000Z",
    )


def test_new_user_part_replaces_the_old_one_and_its_date(context: Context, ada: Caller) -> None:
    clock = context.clock
    assert isinstance(clock, testing.FrozenClock)
    write(context, ada, "Answer in Italian.", "bo")
    clock.advance(60_000)
    write(context, ada, "Answer in French.", "bo")
    prompt = prompt_of(context, ada, "bo")

    assert (prompt.user_part, prompt.updated_at) == (
        "Answer in French.",
        "2026-01-01T00:01:00.000Z",
    )
    assert "Italian" not in prompt.prompt


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
def test_empty_user_part_deletes_the_stored_one(context: Context, ada: Caller, blank: str) -> None:
    write(context, ada, "Answer in Italian.", "bo")
    write(context, ada, blank, "bo")
    prompt = prompt_of(context, ada, "bo")

    assert (prompt.prompt, prompt.user_part, prompt.updated_at) == (CONSTITUTION, "", None)
    assert context.store.read(lambda tx: tx.all("select * from prompts")) == []


def test_user_parts_are_per_account_and_user(context: Context, ada: Caller) -> None:
    robot = authenticate(context, new_key(context, "robot"))
    write(context, ada, "Of ada's bo.", "bo")
    write(context, ada, "Of ada's cy.", "cy")
    write(context, robot, "Of robot's bo.", "bo")

    assert [
        prompt_of(context, caller, user_id).user_part
        for caller, user_id in ((ada, "bo"), (ada, "cy"), (robot, "bo"), (robot, "cy"))
    ] == [
        "Of ada's bo.",
        "Of ada's cy.",
        "Of robot's bo.",
        "",
    ]


def test_prompt_defaults_to_the_accounts_own_user(context: Context, ada: Caller) -> None:
    write(context, ada, "Mine.")

    assert prompt_of(context, ada, "ada").user_part == "Mine."


def test_pinned_key_accesses_only_its_users_prompt(context: Context, ada: Caller) -> None:
    pinned = authenticate(context, new_key(context, "ada", user_id="bo"))
    write(context, pinned, "Bo's.")

    assert prompt_of(context, pinned, "bo").user_part == "Bo's."
    with pytest.raises(PinnedToOtherUser):
        prompt_of(context, pinned, "ada")
    with pytest.raises(PinnedToOtherUser):
        write(context, pinned, "Not mine.", "ada")
    assert prompt_of(context, ada, "ada").user_part == ""


def test_read_only_key_reads_but_cannot_set_the_prompt(context: Context, ada: Caller) -> None:
    reader = authenticate(context, new_key(context, "ada", read_only=True))
    write(context, ada, "Mine.")

    assert prompt_of(context, reader, "ada").user_part == "Mine."
    with pytest.raises(KeyIsReadOnly):
        write(context, reader, "Theirs.")
    with pytest.raises(KeyIsReadOnly):
        write(context, reader, "")
    assert prompt_of(context, ada, "ada").user_part == "Mine."


def test_prompt_shows_the_configured_seal_name(context: Context) -> None:
    named = replace(context, settings=replace(context.settings, seal_name="ARC"))
    new_key(named)

    assert "`ARC | #<step> | READ" in prompt_of(named, caller_for(named), "bo").prompt
