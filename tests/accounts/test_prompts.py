"""The agent prompt: the constitution, then what the user adds; one part a user and account."""

from __future__ import annotations

from dataclasses import replace

import pytest
from service import new_key

from remembrancer import testing
from remembrancer.accounts import KeyIsReadOnly, PinnedToOtherUser, caller_for
from remembrancer.accounts.keys import authenticate
from remembrancer.accounts.prompts import prompt_of, set_prompt
from remembrancer.context import Caller, Context
from remembrancer.protocol.constitution import protocol_text
from remembrancer.protocol.prompts import PromptWrite

CONSTITUTION = protocol_text("REM")


@pytest.fixture
def ada(context: Context) -> Caller:
    """The owner."""
    return authenticate(context, new_key(context, "ada"))


def write(context: Context, caller: Caller, text: str, user_id: str | None = None) -> None:
    set_prompt(context, caller, PromptWrite(prompt=text, user_id=user_id))


def test_without_a_part_of_the_users_own_it_is_the_constitution(
    context: Context, ada: Caller
) -> None:
    prompt = prompt_of(context, ada, "bo")

    assert prompt.prompt == CONSTITUTION
    assert (prompt.user_id, prompt.user_part, prompt.updated_at) == ("bo", "", None)


def test_the_users_own_part_stands_last_as_it_was_written(context: Context, ada: Caller) -> None:
    write(context, ada, " Answer in Italian.\n\nBo is an architect. ", "bo")
    prompt = prompt_of(context, ada, "bo")

    assert prompt.prompt.startswith(CONSTITUTION)
    assert "# The user's own part" in prompt.prompt[len(CONSTITUTION) :]
    assert prompt.prompt.endswith("\n\n Answer in Italian.\n\nBo is an architect. ")
    assert (prompt.user_part, prompt.updated_at) == (
        " Answer in Italian.\n\nBo is an architect. ",
        "2026-01-01T00:00:00.000Z",
    )


def test_setting_it_again_replaces_it_and_says_when(context: Context, ada: Caller) -> None:
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


@pytest.mark.parametrize("nothing", ["", " ", "\n\t "])
def test_an_empty_one_takes_it_away(context: Context, ada: Caller, nothing: str) -> None:
    write(context, ada, "Answer in Italian.", "bo")
    write(context, ada, nothing, "bo")
    prompt = prompt_of(context, ada, "bo")

    assert (prompt.prompt, prompt.user_part, prompt.updated_at) == (CONSTITUTION, "", None)
    assert context.store.read(lambda tx: tx.all("select * from prompts")) == []


def test_each_user_of_each_account_has_their_own(context: Context, ada: Caller) -> None:
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


def test_without_a_user_id_the_accounts_own_user_is_meant(context: Context, ada: Caller) -> None:
    write(context, ada, "Mine.")

    assert prompt_of(context, ada, "ada").user_part == "Mine."


def test_a_pinned_key_has_its_users_prompt_only(context: Context, ada: Caller) -> None:
    pinned = authenticate(context, new_key(context, "ada", user_id="bo"))
    write(context, pinned, "Bo's.")

    assert prompt_of(context, pinned, "bo").user_part == "Bo's."
    with pytest.raises(PinnedToOtherUser):
        prompt_of(context, pinned, "ada")
    with pytest.raises(PinnedToOtherUser):
        write(context, pinned, "Not mine.", "ada")
    assert prompt_of(context, ada, "ada").user_part == ""


def test_a_read_only_key_may_read_it_and_not_set_it(context: Context, ada: Caller) -> None:
    reader = authenticate(context, new_key(context, "ada", read_only=True))
    write(context, ada, "Mine.")

    assert prompt_of(context, reader, "ada").user_part == "Mine."
    with pytest.raises(KeyIsReadOnly):
        write(context, reader, "Theirs.")
    with pytest.raises(KeyIsReadOnly):
        write(context, reader, "")
    assert prompt_of(context, ada, "ada").user_part == "Mine."


def test_the_seal_has_the_name_that_is_set(context: Context) -> None:
    named = replace(context, settings=replace(context.settings, seal_name="ARC"))
    new_key(named)

    assert "`ARC | #<step> | READ" in prompt_of(named, caller_for(named), "bo").prompt
