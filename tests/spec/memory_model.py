"""A simple model of the service: what each account stored, and who may see it.

Every stored text has a word that no other text has. The model says which words a space may see, and
which words must be nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from math import sqrt

Space = tuple[str, str]  # account, user
Session = tuple[str, str, str]  # account, user, session
TURNS_PER_CUBE = 3
ACCOUNTS_MIN, Z = 3, 1.645
COVERED = {  # scope -> the paths of the machine that it covers
    "/etc/nginx/": {"/etc/nginx/nginx.conf", "/etc/nginx/sites/a"},
    "/etc/*/nginx.conf": {"/etc/nginx/nginx.conf"},
    "/etc/hosts": {"/etc/hosts"},
}
PATHS = ("/etc/hosts", "/etc/nginx/nginx.conf", "/etc/nginx/sites/a")


@dataclass
class Text:
    """One stored text by its word. `state` is current, superseded or erased."""

    word: str
    space: Space
    session: str = ""
    id: str = ""
    state: str = "current"
    word_of_query: str = ""
    step: int = 0  # at which it was stored
    is_summarised: bool = False  # by an L1
    fact: Text | None = None  # stored with this turn
    revision: Text | None = None  # of a draft

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        return (self.word, self.word_of_query) if self.word_of_query else (self.word,)


@dataclass
class Counts:
    """The state of a session."""

    step: int = 0
    remembered_step: int = 0
    turns: int = 0
    cube_turn: int | None = None
    exposed: dict[str, int] = field(default_factory=dict)  # cube -> step that showed it as new


@dataclass
class Cube:
    """A cube and its votes."""

    word: str
    space: Space  # of its author
    is_published: bool
    votes: dict[tuple[str, str], int] = field(default_factory=dict)  # of account and user; 0 too

    @property
    def counts(self) -> dict[str, int]:
        """The accounts for and against it, without the author's: each counts once."""
        sums: dict[str, int] = defaultdict(int)
        for (account, _), vote in self.votes.items():
            if account != self.space[0]:
                sums[account] += vote
        return {
            "useful": sum(value > 0 for value in sums.values()),
            "useless": sum(value < 0 for value in sums.values()),
        }

    @property
    def status(self) -> str:
        """Its status after the votes."""
        if not self.is_published:
            return "private"
        useful, votes = self.counts["useful"], sum(self.counts.values())
        if votes < ACCOUNTS_MIN:
            return "published"
        share, square = useful / votes, Z * Z
        middle = share + square / (2 * votes)
        spread = Z * sqrt(share * (1 - share) / votes + square / (4 * votes * votes))
        if (middle - spread) / (1 + square / votes) >= 0.5:
            return "trusted"
        return "retired" if (middle + spread) / (1 + square / votes) < 0.5 else "published"

    def is_served_to(self, space: Space) -> bool:
        """Return True if searches of a space may return it."""
        is_seen = self.space == space or self.status in ("published", "trusted")
        return is_seen and self.votes.get(space) != -1


@dataclass
class Grant:
    """A grant of the owner."""

    id: str
    scope: str
    actions: tuple[str, ...]
    agent: str
    ends_ms: int
    is_revoked: bool = False

    def allows(self, path: str, action: str, agent: str, now_ms: int) -> bool:
        """Return True if it allows an action now."""
        return (
            not self.is_revoked
            and now_ms < self.ends_ms
            and path in COVERED[self.scope]
            and action in self.actions
            and self.agent in ("*", agent)
        )


class Model:
    """Everything that was stored, and the rules of who sees what."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.turns: list[Text] = []
        self.facts: list[Text] = []
        self.summaries: list[Text] = []
        self.notes: dict[Space, Text] = {}  # one memory file per space
        self.files: list[Text] = []  # of accounts
        self.erased_notes: list[Text] = []
        self.cubes: dict[str, Cube] = {}
        self.erased_cubes: set[str] = set()  # their words
        self.sessions: dict[Session, Counts] = defaultdict(Counts)
        self.grants: list[Grant] = []

    def new_word(self, account: str) -> str:
        """Return a word that is new, with letters of its account."""
        digits = str(next(self._numbers)).translate(str.maketrans("0123456789", "bcdfghklmn"))
        return f"zq{digits}{account}"

    @property
    def texts(self) -> Iterator[Text]:
        """All texts but cubes."""
        yield from (*self.turns, *self.facts, *self.summaries, *self.files)
        yield from (*self.notes.values(), *self.erased_notes)

    def visible(self, space: Space) -> set[str]:
        """Return the words that a search of a space may show."""
        stored = (*self.turns, *self.facts, *self.summaries)
        words = {
            word
            for text in stored
            if text.space == space and text.state != "erased"
            for word in text.words
        }
        older = (*self.turns, *self.facts)  # drafts keep the query of their revision
        words -= {text.word for text in older if text.state == "superseded"}
        return words | {
            cube.word
            for cube in self.cubes.values()
            if cube.space == space or cube.status in ("published", "trusted")
        }

    def may_see(self, cube_id: str, space: Space) -> bool:
        """Return True if a user may vote on a cube."""
        cube = self.cubes[cube_id]
        return cube.space == space or cube.is_published

    def unrated(self, session: Session) -> set[str]:
        """Return the cubes that earlier searches of a session showed as new."""
        account, user, _ = session
        return {
            cube_id
            for cube_id in self.sessions[session].exposed
            if (account, user) not in self.cubes[cube_id].votes
        }

    def erased_words(self) -> set[str]:
        """Return the words that must be nowhere."""
        texts = {word for text in self.texts if text.state == "erased" for word in text.words}
        return texts | self.erased_cubes

    def exported_words(self, account: str) -> set[str]:
        """Return the words that an export of an account must have."""
        stored = {
            word
            for text in self.texts
            if text.space[0] == account and text.state != "erased"
            for word in text.words
        }
        return stored | {cube.word for cube in self.cubes.values() if cube.space[0] == account}

    def erase(self, turn: Text) -> None:
        """Erase a turn with its fact and its drafts."""
        turn.state = "erased"
        if turn.fact is not None:
            turn.fact.state = "erased"
        for draft in self.turns:
            if draft.revision is turn:
                self.erase(draft)

    def forget_session(self, session: Session) -> None:
        """Erase the turns and summaries of a session, and its steps."""
        account, user, name = session
        for text in (*self.turns, *self.summaries):
            if (text.space, text.session) == ((account, user), name):
                self.erase(text)
        self.sessions.pop(session, None)

    def forget_user(self, space: Space) -> None:
        """Erase a user's whole memory; the votes stay under another name."""
        for text in (*self.turns, *self.facts, *self.summaries):
            if text.space == space:
                text.state = "erased"
        if space in self.notes:
            note = self.notes.pop(space)
            note.state = "erased"
            self.erased_notes.append(note)
        for session in [one for one in self.sessions if one[:2] == space]:
            del self.sessions[session]
        for cube_id, cube in list(self.cubes.items()):
            if cube.space == space and not cube.is_published:
                self.erased_cubes.add(self.cubes.pop(cube_id).word)
            if space in cube.votes:
                cube.votes[space[0], f"forgotten {next(self._numbers)}"] = cube.votes.pop(space)
