"""Random sequences of calls by four accounts, compared with a simple model of the service.

After each call, what it shows must be what the model says: no other account's words, no forgotten
words, the right step, duties, votes and grants. See specification.md#auth-user-id.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from rounds import rounds
from service import Http, new_key
from spec.memory_model import COVERED, PATHS, Model
from spec.other_calls import MINUTE_MS, OtherCalls
from spec.turn_calls import ACCOUNTS, OWN, words_of
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.memory.exchange.export import export
from remembrancer.server.app import make_app
from remembrancer.store.transfer.copy import tables

EXAMPLES, STEPS = rounds((12, 30), (80, 60))
# What a call may be given, by the names of its parameters.
CHOICES: dict[str, Sequence[Any]] = {
    "account": ACCOUNTS,
    "other": ACCOUNTS,
    "actor": (*ACCOUNTS, *[OWN] * len(ACCOUNTS)),
    "user": ("una", "udo"),  # the same names in every account
    "session": ("s", "t"),
    "seal": ("right", "wrong", "none"),
    "has_fact": (False, True),
    "cube": ("", "private", "published"),
    "doing": ("read", "look", "erase"),
    "sure": range(10),
    "vote": (1, -1),
    "scope": sorted(COVERED),
    "action": ("read", "write"),
    "agent": ("deployer", "other"),
    "request": [
        (path, action, agent)
        for path in PATHS
        for action in ("read", "write")
        for agent in ("deployer", "other")
    ],
    "minutes": range(22),
    "number": range(1 << 16),
}
CALLS = (
    "search",
    *["search_again"] * 3,
    *["remember"] * 3,
    "revise",
    "use_a_turn",
    "forget",
    "state_facts",
    "summarize_and_map",
    "keep_files",
    "create_a_cube",
    *["vote_on_a_cube"] * 2,
    "rate_nothing",
    "use_a_restricted_key",
    "permit",
    "see_a_space",
)


class Accounts(OtherCalls, RuleBasedStateMachine):
    """Four accounts, each with two users and two sessions of the same names."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.clock = testing.FrozenClock()
        self.context = testing.context(self.folder, clock=self.clock)
        self.stack.callback(self.context.close)
        client = self.stack.enter_context(
            TestClient(make_app(self.context), base_url="http://127.0.0.1:8460")
        )
        self.http = {
            name: Http(client, self.context, new_key(self.context, name)) for name in ACCOUNTS
        }
        self.model = Model()

    @initialize()
    def every_account_begins_with_a_turn_and_a_cube(self) -> None:
        """Something to find, to vote on and to keep apart."""
        for account in ACCOUNTS:
            self.remember(account, "una", "s", has_fact=True, cube="published")

    @rule(name=st.sampled_from(CALLS), random=st.randoms(use_true_random=True))
    def call(self, name: str, random: Random) -> None:
        """Make a call with random arguments. One rule: of many, Hypothesis prefers some."""
        method = getattr(self, name)
        arguments = {
            parameter: random.choice(CHOICES[parameter])
            for parameter in signature(method).parameters
        }
        note(f"{name}({arguments})")
        method(**arguments)

    def teardown(self) -> None:
        """Compare the tables and an export with the model."""
        try:
            self.nothing_erased_is_in_a_table()
            self.export_has_the_words_of_its_account()
        finally:
            self.stack.close()

    def nothing_erased_is_in_a_table(self) -> None:
        erased = self.model.erased_words()
        rows = self.context.store.read(
            lambda tx: {one.name: tx.all(f"select * from {one.name}") for one in tables(tx)}
        )
        for table, stored in rows.items():
            assert not words_of(stored) & erased, table

    def export_has_the_words_of_its_account(self) -> None:
        account = ACCOUNTS[len(self.model.turns) % len(ACCOUNTS)]
        path = self.folder / "export.zip"
        export(self.context, caller_for(self.context, account), path)
        with zipfile.ZipFile(path) as archive:
            exported = set[str]()
            for name in archive.namelist():
                exported |= words_of(archive.read(name))
        assert exported == self.model.exported_words(account)

    # --- What happens, in any order -------------------------------------------------------------

    def use_a_turn(self, actor: str, number: int, doing: str) -> None:
        do = {"read": self.read_an_event, "look": self.look_again, "erase": self.erase_an_event}
        do[doing](actor, number)

    def forget(self, account: str, user: str, session: str, sure: int) -> None:
        if sure > 4:
            self.forget_a_session(account, user, session)
        else:
            self.forget_a_user(account, user, sure)

    def state_facts(self, account: str, user: str, actor: str, number: int) -> None:
        """Add a fact; change or remove one."""
        self.add_a_fact(account, user)
        (self.change_a_fact, self.remove_a_fact)[number % 2](actor, number)
        self.list_facts(account, user)

    def summarize_and_map(self, account: str, user: str, session: str) -> None:
        self.summarize(account, user, session)
        self.make_a_map(account, user)
        self.see_a_space(account, user)

    def keep_files(self, account: str, other: str, user: str, actor: str, number: int) -> None:
        """Write a memory file and a created file; read those of others."""
        self.write_a_note(account, user)
        self.view_a_note(other, user)
        self.create_a_file(account)
        self.use_a_file(actor, number, deletes=number % 3 == 0)

    def vote_on_a_cube(self, account: str, user: str, vote: int, number: int) -> None:
        """One user votes, or one user of every account."""
        if number % 2:
            self.vote(account, user, vote, number)
        else:
            self.all_vote(user, vote, number)

    def permit(
        self,
        account: str,
        scope: str,
        action: str,
        agent: str,
        request: tuple[str, str, str],
        minutes: int,
        number: int,
    ) -> None:
        """Grant, check, wait or revoke, and check again."""
        self.grant("owner" if number % 4 else account, scope, action, agent)
        within = sorted(COVERED[scope])[number % len(COVERED[scope])]
        self.check_and_log(account, within, action, agent)
        self.check_and_log(account, *request)
        self.clock.advance(minutes * MINUTE_MS)
        self.revoke(account if number % 2 else "owner", number)
        self.check_and_log(account, within, action, agent)
        self.read_the_audit_trail(account)


@pytest.mark.long
def test_every_sequence_of_calls_agrees_with_the_model() -> None:
    """Visibility, steps, duties, votes, grants, facts and forgetting, in any order."""
    run_state_machine_as_test(
        Accounts,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],  # add Phase.shrink to shorten a failure
            suppress_health_check=list(HealthCheck),
        ),
    )
