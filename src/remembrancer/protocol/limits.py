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
CUBE_TOPIC_CHARACTERS_MAX = 200  # ours: what the server keeps; the next three are the client's, which publishing needs
CUBE_ESSENCE_CHARACTERS_MAX = 1_000  # ours
CUBE_RULES_CHARACTERS_MAX = 8_000  # ours
CUBE_EVIDENCE_CHARACTERS_MAX = 1_000  # ours
CUBE_MODEL_CHARACTERS_MAX = 100  # ours
PUBLISHED_TOPIC_CHARACTERS_MAX = 80  # specification, Remember a turn: what the reference agent client sends
PUBLISHED_ESSENCE_CHARACTERS_MAX = 200  # the same
PUBLISHED_RULES_CHARACTERS_MAX = 800  # the same
PUBLISHED_EVIDENCE_CHARACTERS_MAX = 200  # ours: an event id or a label, not a document
REASON_CHARACTERS_MAX = 1_000  # ours: the reason of a vote
CUBES_SHOWN_MAX = 3  # ours: what an agent reads beside its hits, and has to rate
TURNS_PER_CUBE_MIN = 3  # specification, Limits: at most 1 cube per 3 turns in a session
SNIPPET_CHARACTERS_MAX = 600  # ours: query and response of a hit; event detail has the whole text
