"""Accounts that create, find and rate cubes through the actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from remembrancer.accounts import caller_for, keys
from remembrancer.context import Caller, Context
from remembrancer.cubes import CubeQuery, Situation, lessons
from remembrancer.cubes import serving as shared
from remembrancer.cubes.lessons import Lesson, StoredCube, prepare_cube, store_cube
from remembrancer.protocol.cubes import CubeVote, CubeVoted, SharedCube
from remembrancer.search import parse_query

KETTLE: dict[str, Any] = {
    "kind": "lifehack",
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "rules": "- MUST boil one part vinegar with two parts water.\n"
    "- SHALL rinse it twice before use.",
    "evidence": "tried at home",
}
QUESTION = "How is a kettle descaled?"


class Agent:
    """A user of an account that uses cubes; by default the user named like the account."""

    def __init__(self, context: Context, account: str, user_id: str | None = None) -> None:
        keys.create(context, account=account)
        self.context, self.caller = context, caller_for(context, account)
        self.user_id = user_id or account

    def make(self, *, session: int | None = None, **more: Any) -> StoredCube:
        """Create a cube, about kettles by default."""
        prepared = prepare_cube(self.context, Lesson(**{**KETTLE, **more}))
        return self.context.store.write(
            lambda tx: store_cube(
                self.context, tx, user_id=self.user_id, session=session, prepared=prepared
            ),
            account_id=self.caller.account_id,
        )

    def publish(self, **more: Any) -> str:
        """Publish a cube; return its cube_id."""
        cube = self.make(publish=True, **more)
        assert cube.visibility == "published", cube.refused
        return cube.cube_id

    def matching_cubes(
        self, question: str = QUESTION, caller: Caller | None = None
    ) -> list[SharedCube]:
        """Return the cubes of a search."""
        context, who = self.context, caller or self.caller
        has_vectors = context.embedder.dimensions > 0
        query = CubeQuery(
            user_id=self.user_id,
            session=None,
            situation=Situation(message=question),
            question=parse_query(question),
            vector=context.query_vectors(question) if has_vectors else np.zeros(0, "f4"),
        )
        return context.store.read(
            lambda tx: shared.relevant_cubes(context, tx, who, query), account_id=who.account_id
        )

    def shown_ids(self, question: str = QUESTION) -> list[str]:
        """Return the ids of the cubes of a search, best first."""
        return [cube.cube_id for cube in self.matching_cubes(question)]

    def vote(self, cube_id: str, vote: int, reason: str | None = "because") -> CubeVoted:
        """Vote on a cube."""
        body = {"cube_id": cube_id, "user_id": self.user_id, "vote": vote, "reason": reason}
        return lessons.vote(self.context, self.caller, CubeVote.model_validate(body))
