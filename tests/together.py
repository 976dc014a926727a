"""Run functions at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable


def together(*acts: Callable[[], object]) -> None:
    """Run all functions at the same time; raise the first error."""
    errors: list[BaseException] = []

    def guarded(act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
