"""Every bound on what a caller may send, in one place, with its unit and where it comes from."""

BODY_BYTES_MAX = 1 << 20  # decisions.md, Errors; a setting of the server may lower or raise it
TOP_K_DEFAULT = 5  # specification, Limits
TOP_K_MAX = 100  # decisions.md, Memory search
QUERY_CHARACTERS_MAX = 20_000  # ours: a longer query is a document, not a question
FOCUS_WORDS_MAX = 32  # ours
FOCUS_WORD_CHARACTERS_MAX = 200  # ours
ID_CHARACTERS_MAX = 256  # ours: user_id and session_id
TOPIC_CHARACTERS_MAX = 1_000  # ours
SEAL_CHARACTERS_MAX = 500  # ours: longer than any seal, short enough to be looked at
TOKENS_MAX = 1_000_000  # ours: the largest max_tokens that means anything
IDEMPOTENCY_KEY_CHARACTERS_MAX = 255  # ours
IDEMPOTENCY_HOURS = 24  # decisions.md, Errors
SNIPPET_CHARACTERS_MAX = 600  # ours: query and response of a hit; event detail has the whole text
