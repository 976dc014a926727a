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
CUBE_TOPIC_CHARACTERS_MAX = (
    200  # ours: what the server keeps; the next three are the client's, which publishing needs
)
CUBE_ESSENCE_CHARACTERS_MAX = 1_000  # ours
CUBE_RULES_CHARACTERS_MAX = 8_000  # ours
CUBE_EVIDENCE_CHARACTERS_MAX = 1_000  # ours
CUBE_MODEL_CHARACTERS_MAX = 100  # ours
PUBLISHED_TOPIC_CHARACTERS_MAX = (
    80  # specification, Remember a turn: what the reference agent client sends
)
PUBLISHED_ESSENCE_CHARACTERS_MAX = 200  # the same
PUBLISHED_RULES_CHARACTERS_MAX = 800  # the same
PUBLISHED_EVIDENCE_CHARACTERS_MAX = 200  # ours: an event id or a label, not a document
REASON_CHARACTERS_MAX = 1_000  # ours: the reason of a vote
CUBES_SHOWN_MAX = 3  # ours: what an agent reads beside its hits, and has to rate
TURNS_PER_CUBE_MIN = 3  # specification, Limits: at most 1 cube per 3 turns in a session
SNIPPET_CHARACTERS_MAX = 600  # ours: query and response of a hit; event detail has the whole text
DUTY_REASON_CHARACTERS_MAX = 2_000  # ours
CRITICAL_CHARACTERS_MAX = 2_000  # ours: a fact is a sentence or two
L1_CHARACTERS_MAX = 20_000  # ours
SUMMARY_TURNS_MAX = 1_000  # ours: turns that the draft of an L1 tells of, the latest
SUMMARY_SOURCE_CHARACTERS_MAX = 200_000  # ours: of those turns together
SUMMARY_MODEL_CHARACTERS_MAX = (
    24_000  # ours: of turns or L1s that a model reads for one draft; of more, their headlines
)
SUMMARY_DROPPED_MAX = 20  # ours: sentences that were dropped and are named
MAP_CHARACTERS_MAX = 50_000  # ours
OPEN_TASKS_MAX = 5  # decisions.md, Memory search
DEDUPE_MINUTES = (
    10  # issue: agents retry, so an identical turn of a session is kept once within so long
)
PROMPT_CHARACTERS_MAX = 20_000  # ours: the user's own part of the agent prompt
FEEDBACK_TITLE_CHARACTERS_MAX = 200  # ours
FEEDBACK_DESCRIPTION_CHARACTERS_MAX = 20_000  # ours
FEEDBACK_LISTED_MAX = 100  # ours: of one page
CODE_CHARACTERS_MAX = 200_000  # ours: a program, not a data set
RUN_SECONDS_MAX = 60  # decisions.md, Sandbox: timeout_s
REPAIR_CHARACTERS_MAX = 50_000  # ours: the rules look at all of a program several times
REPAIR_RUNS_MAX = 8  # ours: runs of changed programs beside the first one
REPAIR_SECONDS_MAX = 60  # ours: for all of them together
REPAIR_MODEL_TRIES = 2  # ours: answers of one slot to one failure; a third rarely helps
REPAIR_CALL_SECONDS_MAX = 20  # ours: for one answer
REPAIRS_MAX = (
    32  # ours: programs that wait for models at the same time; more are repaired by rule only
)
OPTIMIZE_PAIRS = 5  # ours: runs of both programs, one after the other
OPTIMIZE_PAIRS_WON_MIN = 4  # ours: of those, with a tenth less work of the processor
OPTIMIZE_CPU_MS_MIN = 50  # ours: below that a tenth is lost in the noise
RUN_TOLD_CHARACTERS_MAX = 20_000  # ours: of what a program printed, in the event that keeps the run
FILENAME_GIVEN_CHARACTERS_MAX = 1_000  # ours: of the name that was asked for
FILENAME_CHARACTERS_MAX = (
    80  # ours: of the name that is kept; with what is added it fits every file system
)
FILENAME_BYTES_MAX = 200  # ours: the same in UTF-8
FILE_CHARGED_BYTES_MIN = 4_096  # ours: an empty file takes room on a disk, too
ZIP_ENTRIES_MAX = 20_000  # ours: what a list of contents takes to read
ZIP_UNPACKED_BYTES_MAX = 200 << 20  # ours: what an archive may say that it unpacks to
ZIP_RATIO_MAX = 100  # ours: how many times its own size that may be
DOWNLOAD_LINK_MINUTES = 15  # ours: a signed link is for a click, not for keeping
SPAN_MAX = 1_000_000_000  # ours: more hits than any memory has
CITED_EVENTS_MAX = 50  # ours: different events that one draft cites
CITED_CHARACTERS_MAX = (
    4_000_000  # ours: text of those events together, which is read for every second look
)
JUDGED_SENTENCES_MAX = 20  # ours: cited sentences that a model judges for one second look
JUDGED_CHARACTERS_MAX = 24_000  # ours: of those and the events they cite
CHECKS_LISTED_MAX = 500  # ours: checks that one second look lists; it counts all
GRANT_MINUTES_MAX = 240  # specification, Limits: sysperm grant ttl_minutes
PATH_CHARACTERS_MAX = 4_096  # ours: what Linux takes in one call
PATH_PARTS_MAX = (
    128  # ours: of a path or scope, between its slashes; each folder above a path is looked up
)
SCOPE_CHARACTERS_MAX = 1_024  # ours
GRANTS_LISTED_MAX = 500  # ours: of one page
RESULT_CHARACTERS_MAX = (
    4_000  # ours: what came of an action, not its output; it can never be erased
)
AUDIT_LISTED_MAX = 500  # ours: entries of one page
PASSWORD_CHARACTERS_MIN = 12  # ours
PASSWORD_CHARACTERS_MAX = 200  # ours: a sentence fits; more is work for nothing
INVITATION_HOURS = 24  # ours: a link that sets a password is for the day it was made
CHAT_ROLE_CHARACTERS_MAX = 64  # ours
CHAT_HISTORY_MAX = 1_000  # ours: messages of the conversation so far
CHAT_HISTORY_CHARACTERS_MAX = 12_000  # ours: of those that a model reads, the last ones
CHAT_HITS_MAX = 8  # ours: events that an answer may rest on
CHAT_EVENT_CHARACTERS_MAX = (
    4_000  # ours: of an event that a model reads; of a longer one, the passage that was found
)
CHAT_QUOTES_MAX = 3  # ours: events that are quoted where no model answers
CHAT_QUOTE_CHARACTERS_MAX = 300  # ours: of each side of one
MEMORY_PATH_CHARACTERS_MAX = 512  # ours: of a path below /memories
MEMORY_PATH_PARTS_MAX = 16  # ours: folders and the file's own name
MEMORY_FILE_CHARACTERS_MAX = 100_000  # ours: what a model can still read at once
MEMORY_FILES_MAX = 1_000  # ours: files that a user has at the same time
MEMORY_FILES_BYTES_MAX = 64 << 20  # ours: of all versions of a user's files together
MEMORY_VERSION_BYTES_MIN = 256  # ours: what a version counts at least: an empty one is a row, too
MEMORY_VERSIONS_LISTED_MAX = 100  # ours: of one page
MEMORY_LINES_NAMED_MAX = 50  # ours: lines that a refused replacement names
COMPLIANCE_DAYS_MAX = 366  # ours
COMPLIANCE_SESSIONS_MAX = 50  # ours: sessions that are listed
