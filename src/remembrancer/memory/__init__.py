"""Memory: turns stored verbatim (`write/`), hybrid search (`recall/`), summaries and maps
(`summaries/`), browsing and forgetting (`history/`), memory files (`files/`), import (`exchange/`),
facts and the duties of a session.

Imported by `agent`, `status` and the entry points.
"""
