"""`python -m remembrancer.testing postgres`:

a PostgreSQL for tests. Its first line is the URL; it ends at SIGTERM or with its parent.
"""

from __future__ import annotations

import signal
import sys

from .postgres import NoPostgres, Postgres, end_with_parent


def main() -> int:
    """Run until stopped and return the exit status."""
    if sys.argv[1:] != ["postgres"]:
        sys.stderr.write("usage: python -m remembrancer.testing postgres\n")
        return 2
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    end_with_parent(signal.SIGTERM)
    try:
        with Postgres() as server:
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            signal.sigwait(signals)
    except NoPostgres as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


sys.exit(main())
