"""Write from several threads until killed; print each account's name once its write has returned."""

import os
import sys
import threading
from functools import partial

from remembrancer.store import Transaction
from remembrancer.store.sqlite.store import SqliteStore

path, run = sys.argv[1:]
store = SqliteStore(path)


def keep(tx: Transaction, name: str) -> None:
    """Add an account and its three spaces in one transaction."""
    (account,) = tx.all(
        "insert into accounts (name, role, created_ms) values (:name, 'member', 1) returning id",
        name=name,
    )
    for user_id in ("one", "two", "three"):
        tx.run(
            "insert into spaces (account_id, user_id, created_ms) values (:account, :user_id, 1)",
            account=account.id,
            user_id=user_id,
        )


def work(thread: int) -> None:
    for n in range(1_000_000):
        name = f"{run}.{thread}.{n}"
        store.write(partial(keep, name=name))
        os.write(1, f"{name}\n".encode())


for thread in range(4):
    threading.Thread(target=work, args=(thread,)).start()
