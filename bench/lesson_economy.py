"""Simulate the rules by which lessons earn and lose trust (src/remembrancer/cubes/rules.py).

    python -m bench.lesson_economy [--runs 20000] [--seed 1]

Nothing is read or served: votes and outcomes are random numbers. A harmful lesson is rated -1 by
each user, a useful one +1, and a share of the votes (the noise) is the opposite. Rates that were
counted have 95 % Wilson intervals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.report import table, write_section
from remembrancer.cubes import rules
from remembrancer.cubes.sequential import ArmCounts, needed
from remembrancer.protocol.limits import CUBES_SHOWN_MAX

NOISE = 0.2  # share of votes that are wrong
EXPOSURES = 60  # of one cube within an account: each is the vote of another user
TRIALS = 100  # exposures with an outcome
OTHERS = 50  # outcomes of turns of the account that followed no cube
Rule = Callable[[int, int], int]  # useful and useless votes to 1 trusted, -1 retired or 0
Random = np.random.Generator


def interval(count: int, runs: int) -> str:
    """Format a share in percent with its two-sided 95 % Wilson interval."""
    low, high = rules.wilson(count, runs, z=1.96)
    return f"{100 * count / runs:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def by_margin(least: int) -> Rule:
    """Return the rule that decides once one side leads by `least` votes."""
    return lambda useful, useless: (useful - useless >= least) - (useless - useful >= least)


def by_wilson(z: float, votes_min: int) -> Rule:
    """Return the rule that decides once a Wilson bound passes one half."""

    def decide(useful: int, useless: int) -> int:
        votes = useful + useless
        low, high = rules.wilson(useful, votes, z=z)
        return int(votes >= votes_min and low >= 0.5) - int(votes >= votes_min and high < 0.5)

    return decide


def in_use(useful: int, useless: int) -> int:
    """Return the decision of the rule that the service uses, for a published cube."""
    return _sign(rules.status_within(useful, useless, "published"))


def against_others(useful: int, useless: int) -> int:
    """Return the same for a cube that other accounts trust: 0 means that it stays trusted."""
    return min(_sign(rules.status_within(useful, useless, "trusted")), 0)


def _sign(status: str) -> int:
    return {"trusted": 1, "retired": -1}.get(status, 0)


WITHIN: dict[str, Rule] = {
    "one vote": by_margin(1),
    "lead of 2 votes": by_margin(2),
    "lead of 3 votes": by_margin(3),
    "Wilson, z = 1, 2 votes": by_wilson(1.0, 2),
    "Wilson, z = 1.28, 2 votes": by_wilson(1.2816, 2),
    "Wilson, z = 1.645, 3 votes": by_wilson(rules.Z, 3),
    "rule in use": in_use,
    "rule in use, cube trusted by other accounts": against_others,
}


def decisions(rule: Rule, votes: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the decision after each vote; `votes` is True for +1, shape (runs, votes)."""
    most = votes.shape[1]
    by_counts = np.array(
        [[rule(useful, useless) for useless in range(most + 1)] for useful in range(most + 1)]
    )
    useful = votes.cumsum(1)
    return np.asarray(by_counts[useful, np.arange(1, most + 1) - useful], dtype=np.int64)


def first(reached: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the exposure (from 1) at which each run first reaches something; inf if never."""
    return np.where(reached.any(1), reached.argmax(1) + 1.0, np.inf)


def quantile(values: npt.NDArray[np.float64], share: float) -> str:
    """Format a quantile of exposures."""
    value = float(np.quantile(values, share, method="inverted_cdf"))
    return f"{value:.0f}" if np.isfinite(value) else "never"


def within_account(runs: int, random: Random) -> str:
    """Compare the rules that decide by the votes of one account's own users."""
    rows = []
    for name, rule in WITHIN.items():
        retired = first(decisions(rule, random.random((runs, EXPOSURES)) < NOISE) < 0)
        useful = decisions(rule, random.random((runs, EXPOSURES)) >= NOISE)
        lost, trusted = first(useful < 0), first(useful > 0)
        rows.append(
            [
                name,
                quantile(retired, 0.5),
                quantile(retired, 0.95),
                interval(int((retired <= 10).sum()), runs),
                interval(int(np.isfinite(lost).sum()), runs),
                quantile(trusted, 0.5),
            ]
        )
    heads = [
        "rule", "harmful: median exposures until it is retired", "95 % quantile",
        "retired within 10", f"useful: ever retired in {EXPOSURES} votes",
        "useful: median until it is trusted",
    ]  # fmt: skip
    return table(heads, rows)


def outcomes(runs: int, random: Random) -> str:
    """Compute how outcomes alone retire a cube, by the success rate without it."""
    rows = []
    for base in (0.2, 0.35, 0.5, 0.65, 0.8):
        cells = []
        for rate in (0.05, base, min(base + 0.2, 0.97)):
            succeeded = random.random((runs, TRIALS)) < rate
            decided = decisions(_outcome_rule(base), succeeded)
            cells.append(first(decided < 0))
        harmful, neutral, useful = cells
        rows.append(
            [
                f"{100 * base:.0f} %",
                quantile(harmful, 0.5),
                quantile(harmful, 0.95),
                interval(int(np.isfinite(neutral).sum()), runs),
                interval(int(np.isfinite(useful).sum()), runs),
            ]
        )
    heads = [
        "success without the cube", "harmful (success 5 %): median exposures", "95 % quantile",
        f"without effect: retired in {TRIALS}", f"useful (+20 points): retired in {TRIALS}",
    ]  # fmt: skip
    return table(heads, rows)


def _outcome_rule(base: float) -> Rule:
    return lambda good, bad: -int(_retires(good, bad, base))


def _retires(good: int, bad: int, base: float) -> bool:
    other_good = round(base * OTHERS)
    return rules.retired_by_outcomes(
        good, bad, other_good=other_good, other_bad=OTHERS - other_good
    )


def together(runs: int, random: Random) -> str:
    """Compute the exposures until votes or outcomes retire a cube, by the account's users."""
    rows = []
    for users in (1, 2, 3, 5, 10, 20):
        cells = [
            _exposures_until_gone(runs, users, rate, random)
            for rate in (0.05, 0.9)  # success with a harmful and with a useful cube
        ]
        rows.append(
            [
                str(users),
                quantile(cells[0], 0.5),
                quantile(cells[0], 0.95),
                interval(int((cells[0] <= 10).sum()), runs),
                interval(int(np.isfinite(cells[1]).sum()), runs),
            ]
        )
    heads = [
        "users besides the author", "harmful: median exposures until nobody sees it",
        "95 % quantile", "within 10", f"useful: nobody sees it after {EXPOSURES} exposures",
    ]  # fmt: skip
    return table(heads, rows)


def _exposures_until_gone(
    runs: int, users: int, rate: float, random: Random
) -> npt.NDArray[np.float64]:
    """Return the exposures until a cube is retired here or hidden from every user.

    The success rate without the cube is 0.5. Each user rates at its first exposure, by the outcome,
    and is not shown a cube that it rated -1.
    """
    hidden_at = np.full(runs, np.inf)
    for run in range(runs):
        waiting, good, bad, useful, useless = list(range(users)), 0, 0, 0, 0
        rated: set[int] = set()
        for exposure in range(1, EXPOSURES + 1):
            place = int(random.integers(len(waiting)))
            succeeded = random.random() < rate
            good, bad = good + succeeded, bad + (not succeeded)
            if waiting[place] not in rated:
                rated.add(waiting[place])
                vote = succeeded == (random.random() >= NOISE)
                useful, useless = useful + vote, useless + (not vote)
                if not vote:
                    del waiting[place]
            if (
                not waiting
                or rules.status_within(useful, useless, "published") == "retired"
                or _retires(good, bad, 0.5)
            ):
                hidden_at[run] = exposure
                break
    return hidden_at


def prices() -> str:
    """Compute how many accounts an attacker needs, by the honest accounts that have voted."""
    rows = []
    for honest in (0, 1, 2, 3, 5, 10, 20, 50):
        push = next(n for n in range(1_000) if rules.status_of(n, honest) == "trusted")
        stop = next(n for n in range(1_000) if rules.status_of(n, honest) != "retired")
        drop = next(n for n in range(1_000) if rules.status_of(honest, n) == "retired")
        rows.append([str(honest), str(push), str(stop), str(drop)])
    heads = [
        "honest accounts that vote", "attackers until a bad cube is trusted",
        "attackers that keep a bad cube from being retired",
        "attackers until a good cube is retired",
    ]  # fmt: skip
    return table(heads, rows)


def minorities(runs: int, random: Random) -> str:
    """Compute how often a minority of accounts decides, if the votes come in a random order.

    A retired cube is shown to nobody and gets no further votes, so the first decision counts.
    """
    rows = []
    for noise in (0.0, NOISE):
        for accounts, attackers in ((5, 1), (10, 2), (10, 4), (30, 3), (30, 6), (30, 12)):
            order = random.random((runs, accounts)).argsort(1)
            wrong = (order < attackers) | (random.random((runs, accounts)) < noise)
            good, bad = (decisions(_between_accounts, votes) for votes in (~wrong, wrong))
            lost, hidden = first(good < 0), first(bad < 0)
            lost_later = np.isfinite(lost) & (first(good > 0) < lost)
            rows.append(
                [
                    f"{100 * noise:.0f} %",
                    f"{attackers} of {accounts}",
                    interval(int(np.isfinite(lost).sum()), runs),
                    interval(int(lost_later.sum()), runs),
                    interval(int((good[:, -1] < 0).sum()), runs),
                    interval(int((first(bad > 0) < hidden).sum()), runs),
                    interval(int(np.isfinite(hidden).sum()), runs),
                ]
            )
    heads = [
        "honest votes wrong", "attackers", "good cube ever retired",
        "ever retired after it was trusted", "retired by all votes together",
        "bad cube trusted before it is retired", "bad cube ever retired",
    ]  # fmt: skip
    return table(heads, rows)


def _between_accounts(useful: int, useless: int) -> int:
    return _sign(rules.status_of(useful, useless))


def freshness(runs: int, random: Random) -> str:
    """Compute what decay does to seldom used cubes and to ones that newer cubes replace.

    A topic has RIVALS cubes that fit a search somewhat. A search for the right one happens every
    so many days, at random. In the last two columns a newer cube of the same topic fits as well as
    an old one that nobody has used since.
    """
    rows = []
    for label, between, used in (
        ("every week", 7, 30), ("every month", 30, 12), ("every quarter", 91, 6),
        ("every year", 365, 2), ("every three years", 1_095, 1),
    ):  # fmt: skip
        gaps = random.exponential(between, runs)
        fit = np.clip(random.normal(0.62, 0.09, runs), 0.36, 1)
        rivals = np.clip(random.normal(0.45, 0.07, (runs, 6)), 0, 1)
        factor = np.array([rules.freshness(float(gap), used) for gap in gaps])
        place = (rivals >= (fit * factor)[:, None]).sum(1)
        before = (rivals >= fit[:, None]).sum(1)
        newer = np.clip(fit + random.normal(0, 0.03, runs), 0, 1)
        rows.append(
            [
                label,
                f"{float(np.mean(factor)):.3f}",
                interval(int((before < CUBES_SHOWN_MAX).sum()), runs),
                interval(int((place < CUBES_SHOWN_MAX).sum()), runs),
                interval(int((newer > fit).sum()), runs),
                interval(int((newer > fit * factor).sum()), runs),
            ]
        )
    heads = [
        "needed", "mean freshness", f"among the {CUBES_SHOWN_MAX} shown, no decay", "with decay",
        "a newer cube of its topic ranks first, no decay", "with decay",
    ]  # fmt: skip
    return table(heads, rows)


def trial_lengths() -> str:
    """Compute how many outcomes make an effect clear, from expected counts."""
    rows = []
    for base, effect in ((0.2, 0.4), (0.2, 0.2), (0.5, 0.4), (0.5, 0.2), (0.5, 0.1), (0.8, 0.1)):
        cells = []
        for share in (0.1, 0.5):
            arms = [
                ArmCounts(trials=part, successes=part * rate)
                for part, rate in ((1 - share, base + effect), (share, base))
            ]
            cells.append(f"{needed(*arms, withheld_share=share):,}")
        rows.append([f"{100 * base:.0f} %", f"+{100 * effect:.0f} points", *cells])
    heads = ["success without the cube", "effect", "outcomes, 10 % withheld", "50 % withheld"]
    return table(heads, rows)


def main() -> None:
    """Simulate all parts and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20_000, help="of each cell. Default: 20000")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers. Default: 1")
    parser.add_argument("--data", help="ignored")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    runs = options.runs
    parts = [
        f"Votes of an account's own users, {NOISE:.0%} of them wrong:",
        within_account(runs, random),
        f"Outcomes alone, compared with {OTHERS} outcomes without a cube:",
        outcomes(runs, random),
        "Votes and outcomes together; success without the cube 50 %:",
        together(runs // 5, random),
        "Votes between accounts, all honest ones right:",
        prices(),
        "Minorities of attackers among the accounts that vote:",
        minorities(runs, random),
        "Decay of cubes that nobody uses:",
        freshness(runs, random),
        "Outcomes until the always-valid interval (sequential.py) of an effect excludes 0:",
        trial_lengths(),
    ]
    write_section(
        "lesson_economy",
        "Economics of lessons, simulated",
        "python -m bench.lesson_economy",
        "\n\n".join(parts),
    )


if __name__ == "__main__":
    main()
