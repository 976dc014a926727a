"""The usage charts and the tables with the same numbers."""

from __future__ import annotations

from console.reader import Reader, words_of
from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.accounts.usage import UsageCounter
from remembrancer.context import Context

PATH = "/console/usage"


def count_usage(context: Context, account: str) -> None:
    """Count three searches with a key, a run in a browser and seven model calls."""
    caller = authenticate(context, new_key(context, account))
    counter = UsageCounter(context, 3_600)
    counter.count("search", account_id=caller.account_id, key_id=caller.key_id, times=3)
    counter.count("run", account_id=caller.account_id)
    counter.count("model_call", times=7)
    counter.close()


def test_owner_sees_total_usage_and_members_their_own(
    owner: Reader, ada: Reader, context: Context
) -> None:
    """The owner sees all, others their own (specification.md#console-scope)."""
    count_usage(context, "owner")
    count_usage(context, "ada")
    total, own = words_of(owner.get(PATH).text), words_of(ada.get(PATH).text)

    for text in ("6 searches", "14 succeeded", "ada: for a test", "ada: browser or command line"):
        assert text in total
    assert "3 searches" in own
    for text in ("6 searches", "succeeded", "owner:"):
        assert text not in own
