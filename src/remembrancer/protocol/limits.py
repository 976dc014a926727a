"""Limits of requests and of what the service stores, each with its unit in its name."""

BODY_BYTES_MAX = 1 << 20  # bytes of a request body. Setting: `REMEMBRANCER_BODY_BYTES_MAX`
TOP_K_DEFAULT = 5  # hits of a search without `top_k`
TOP_K_MAX = 100  # hits that a search may ask for (`top_k`)
QUERY_CHARACTERS_MAX = 20_000  # characters of `query_text`, and of a chat message
FOCUS_WORDS_MAX = 32  # focus words of one search
FOCUS_WORD_CHARACTERS_MAX = 200  # characters of one focus word
ID_CHARACTERS_MAX = 256  # characters of a `user_id`, `session_id` or other id
TOPIC_CHARACTERS_MAX = 1_000  # characters of a `topic`
METADATA_KEYS_MAX = 16  # keys of `metadata`
METADATA_KEY_CHARACTERS_MAX = 64  # characters of a key of `metadata`
METADATA_TEXT_CHARACTERS_MAX = 512  # characters of a text in `metadata`
METADATA_LIST_MAX = 16  # texts of a list in `metadata`
FILTER_CONDITIONS_MAX = 32  # conditions of `filters`
FILTER_DEPTH_MAX = 4  # filters within each other
FILTER_VALUES_MAX = 100  # values of `in` and `nin` in a filter
SEAL_CHARACTERS_MAX = 500  # characters of `last_seal`
TOKENS_MAX = 1_000_000  # value of `max_tokens`
BATCH_TURNS_MAX = 500  # turns of one batch
EMBEDDING_INPUTS_MAX = 2_048  # texts of one request for embeddings
IDEMPOTENCY_KEY_CHARACTERS_MAX = 255  # characters of an `Idempotency-Key`
IDEMPOTENCY_HOURS = 24  # hours during which an `Idempotency-Key` returns the first response
CUBE_TOPIC_CHARACTERS_MAX = 200  # characters of the topic of a cube
CUBE_ESSENCE_CHARACTERS_MAX = 1_000  # characters of the essence of a cube
CUBE_RULES_CHARACTERS_MAX = 8_000  # characters of the rules of a cube
CUBE_EVIDENCE_CHARACTERS_MAX = 1_000  # characters of the evidence of a cube
CUBE_MODEL_CHARACTERS_MAX = 100  # characters of the `model` of a cube
# Characters of the topic of a published cube. A cube with a longer one stays private
PUBLISHED_TOPIC_CHARACTERS_MAX = 80
PUBLISHED_ESSENCE_CHARACTERS_MAX = 200  # characters of the essence of a published cube
PUBLISHED_RULES_CHARACTERS_MAX = 800  # characters of the rules of a published cube
PUBLISHED_EVIDENCE_CHARACTERS_MAX = 200  # characters of the evidence of a published cube
REASON_CHARACTERS_MAX = 1_000  # characters of the `reason` of a vote
CUBES_SHOWN_MAX = 3  # cubes in the response of a search
TURNS_PER_CUBE_MIN = 3  # turns of a session per cube made by `remember`
# Characters of `query` and of `response` in a hit. Event detail has the whole text
SNIPPET_CHARACTERS_MAX = 600
DUTY_REASON_CHARACTERS_MAX = 2_000  # characters of `duty_reason`
CRITICAL_CHARACTERS_MAX = 2_000  # characters of `critical`
L1_CHARACTERS_MAX = 20_000  # characters of an L1
SUMMARY_TURNS_MAX = 1_000  # turns that the draft of an L1 covers; the latest ones
SUMMARY_SOURCE_CHARACTERS_MAX = 200_000  # characters of all turns that the draft of an L1 covers
# Characters of turns or L1s that a model reads for one draft. Of the rest it reads headlines
SUMMARY_MODEL_CHARACTERS_MAX = 24_000
SUMMARY_DROPPED_MAX = 20  # dropped sentences of a model that a response lists
MAP_CHARACTERS_MAX = 50_000  # characters of a map
L2_SOURCE_CHARACTERS_MAX = 60_000  # characters of the L1s that a search returns for a due L2
FACTS_LISTED_MAX = 100  # facts on one page of a list
SESSIONS_PAGE_MAX = 100  # sessions on one page of a list
EVENTS_PAGE_MAX = 100  # events on one page of a list
EVENTS_PAGE_CHARACTERS_MAX = 1_000_000  # characters of the events on one page; one may have more
RETENTION_DAYS_MAX = 36_500  # days of a retention rule
RETENTION_EVENTS_MAX = 1_000_000_000  # turns of a user that a retention rule may keep
SWEEPS_LISTED_MAX = 50  # removals by expiry and retention in a response
FACTS_FOUND_MAX = 5  # facts in the response of a search
INSTRUCTIONS_FOUND_MAX = 3  # standing instructions, and preferences, in the response of a search
SUMMARIES_FOUND_MAX = 3  # summaries in the response of a search
OPEN_TASKS_MAX = 5  # open tasks in the response of a search
OPEN_TASK_DAYS = 7  # without a turn end an open task
DEDUPE_MINUTES = 10  # minutes within which an identical turn of a session is stored once
PROMPT_CHARACTERS_MAX = 20_000  # characters of the user's own part of the agent prompt
FEEDBACK_TITLE_CHARACTERS_MAX = 200  # characters of the title of feedback
FEEDBACK_DESCRIPTION_CHARACTERS_MAX = 20_000  # characters of the description of feedback
TOOL_NAME_CHARACTERS_MAX = 200  # of a tool in use
WORK_NAMES_MAX = 50  # tools in use, and files, of one search
FEEDBACK_LISTED_MAX = 100  # feedback on one page
CODE_CHARACTERS_MAX = 200_000  # characters of `code`
RUN_SECONDS_MAX = 60  # seconds that a request may ask for (`timeout_s`)
REPAIR_CHARACTERS_MAX = 50_000  # characters of a program that is repaired. A longer one is only run
REPAIR_RUNS_MAX = 8  # runs of repaired programs per request, besides the first run
REPAIR_SECONDS_MAX = 60  # seconds that these runs may take together
REPAIR_MODEL_TRIES = 2  # answers of one model slot to one failure
REPAIR_CALL_SECONDS_MAX = 20  # seconds that one answer of a model may take
# Programs that wait for models at the same time. Further ones are repaired by rule only
REPAIRS_MAX = 32
OPTIMIZE_PAIRS = 5  # pairs of runs that compare a program with a faster one
# Pairs in which the faster program must take at least a tenth less CPU time
OPTIMIZE_PAIRS_WON_MIN = 4
OPTIMIZE_CPU_MS_MIN = 50  # milliseconds of CPU time below which a program is not optimized
# Characters of output in the event that stores a run. The event says what was cut
RUN_TEXT_CHARACTERS_MAX = 20_000
FILENAME_INPUT_CHARACTERS_MAX = 1_000  # characters of the requested `filename`
# Characters of the stored name; longer names are cut, and the response shows the result
FILENAME_CHARACTERS_MAX = 80
FILENAME_BYTES_MAX = 200  # bytes of the stored name in UTF-8
FILE_CHARGED_BYTES_MIN = 4_096  # bytes that a smaller file counts against the quota
ZIP_ENTRIES_MAX = 20_000  # entries of an archive
ZIP_UNPACKED_BYTES_MAX = 200 << 20  # bytes that an archive may unpack to
PNG_PIXELS_MAX = 50_000_000  # pixels of a created picture
SVG_BYTES_MAX = 8 << 20  # bytes of a created SVG
SVG_ELEMENTS_MAX = 500_000  # elements of a created SVG
SVG_DEPTH_MAX = 1_000  # nested elements of a created SVG
PYTHON_FILE_BYTES_MAX = 512 << 10  # bytes of a created Python file
ZIP_RATIO_MAX = 100  # unpacked size of an archive divided by its size
DOWNLOAD_LINK_MINUTES = 15  # minutes during which a `download_url` works
SPAN_MAX = 1_000_000_000  # value of `span` of a second look
CITED_EVENTS_MAX = 50  # different events that a draft may cite
CITED_CHARACTERS_MAX = 4_000_000  # characters of all events that a draft cites
JUDGED_SENTENCES_MAX = 20  # sentences with refs that a model judges per second look
JUDGED_CHARACTERS_MAX = 24_000  # characters of those sentences and of the events they cite
# Checks that a second look lists, failures first. `failed` and `passed` count all
CHECKS_LISTED_MAX = 500
GRANT_MINUTES_MAX = 240  # value of `ttl_minutes` of a grant
PATH_CHARACTERS_MAX = 4_096  # characters of a `path` that is checked or logged
PATH_PARTS_MAX = 128  # slashes in a `path` and in a `scope`
SCOPE_CHARACTERS_MAX = 1_024  # characters of a `scope`
GRANTS_LISTED_MAX = 500  # grants on one page
RESULT_CHARACTERS_MAX = 4_000  # characters of the `result` of an action
AUDIT_LISTED_MAX = 500  # entries of the audit trail on one page
PASSWORD_CHARACTERS_MIN = 12  # minimum number of characters of a password
PASSWORD_CHARACTERS_MAX = 200  # maximum number of characters of a password
INVITATION_HOURS = 24  # hours during which a link that sets a password works, once
TEAMS_MAX = 100  # teams of which an account is a member
TEAMS_SEARCHED_MAX = 8  # teams that one search covers, besides one's own memory
TEAM_MEMBERS_MAX = 200  # members of a team
TEAM_INVITATIONS_MAX = 50  # invitations of a team that nobody has accepted yet
TEAM_INVITATION_HOURS_DEFAULT = 168  # hours during which an invitation to a team works
TEAM_INVITATION_HOURS_MAX = 720  # value of `expires_in_hours` of an invitation to a team
TEAM_NAME_CHARACTERS_MAX = 100  # characters of the name of a team
CHAT_ROLE_CHARACTERS_MAX = 64  # characters of a `role` in `chat_history`
CHAT_HISTORY_MAX = 1_000  # messages in `chat_history`
# Characters of history that a model reads: the last whole messages that fit
CHAT_HISTORY_CHARACTERS_MAX = 12_000
CHAT_SESSION_TURNS_MAX = 20  # latest turns of the session that a chat reply considers
# Minimum of `answerable` at which chat, `/v1` and the SDK's turn put events into a prompt
UNASKED_ANSWERABLE_MIN = 0.5
# The same for hooks of coding agents, whose prompts are about the work that memory holds
HOOKS_ANSWERABLE_MIN = 0.12
UNASKED_HITS_MAX = 8  # events that chat, `/v1` and hooks put into a prompt
# Characters of an event that a model reads whole. Of a longer one it reads the matching passage
CHAT_EVENT_CHARACTERS_MAX = 4_000
CHAT_QUOTES_MAX = 3  # events that are quoted when no model answers
CHAT_QUOTE_CHARACTERS_MAX = 300  # characters of each side of a quoted event
MEMORY_PATH_CHARACTERS_MAX = 512  # characters of the path of a memory file
MEMORY_PATH_PARTS_MAX = 16  # folders of such a path, and the file's name
MEMORY_FILE_CHARACTERS_MAX = 100_000  # characters of a memory file, and of each text of a command
MEMORY_FILES_MAX = 1_000  # memory files per user
MEMORY_FILES_BYTES_MAX = 64 << 20  # bytes of all versions of a user's memory files together
MEMORY_VERSION_BYTES_MIN = 256  # bytes that a smaller version counts
MEMORY_VERSIONS_LISTED_MAX = 100  # versions on one page
MEMORY_LINES_NAMED_MAX = 50  # lines that a refused replacement lists; beyond that only their number
COMPLIANCE_DAYS_MAX = 366  # value of `days` of compliance
COMPLIANCE_SESSIONS_MAX = 50  # sessions that compliance lists. Older ones are in the total
