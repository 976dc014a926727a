"""All operations of the service, each declared once, in the order of the documentation."""

from __future__ import annotations

from . import (
    agent,
    agent_tools,
    cubes,
    execution,
    facts,
    feedback,
    files,
    forget,
    memory,
    openai_api,
    permissions,
    search,
    status,
    summaries,
    teams,
)
from .errors import Conflict, Forbidden, NotFound, Unauthorized
from .operation import (
    AnyOperation,
    BodyOperation,
    ItemBodyOperation,
    ItemOperation,
    ItemQueryOperation,
    Operation,
    PlainOperation,
    QueryOperation,
)

EVENT_STREAM = "text/event-stream"


class Operations:
    """The operations that programs call; they are methods of the clients."""

    # --- Memory -------------------------------------------------------------------------------

    search_memory = BodyOperation(
        "POST",
        "/api/v7/memory",
        summary="Search memory",
        description="Search one user's memory by meaning and by words, best hit first. An empty "
        "memory returns no hits, not an error.",
        body=search.MemoryQuery,
        answer=search.MemoryAnswer,
        team="reader",
        takes_idempotency_key=False,
    )
    explain_search = BodyOperation(
        "POST",
        "/api/v7/memory/explain",
        summary="Explain a search",
        description="Run a search and return every reason for each hit, with the result and "
        "duration of each stage. Writes nothing and counts no step.",
        body=search.MemoryQuery,
        answer=search.Explanation,
        team="reader",
        takes_idempotency_key=False,
    )
    remember_turn = BodyOperation(
        "POST",
        "/api/v7/remember",
        summary="Remember a turn",
        description="Store a turn. When the response arrives, the turn is durable and the next "
        "search finds it.",
        body=memory.Turn,
        answer=memory.Remembered,
        team="writer",
        errors=(NotFound,),
    )
    save_event = BodyOperation(
        "POST",
        "/api/v7/event/write",
        summary="Save an event",
        description="Store an event for any user of the account. Does what `remember` does for a "
        "single turn.",
        body=memory.EventWrite,
        answer=memory.EventWritten,
        team="writer",
    )
    save_batch = BodyOperation(
        "POST",
        "/api/v7/memory/batch",
        summary="Save a batch of turns",
        description="Store up to 500 turns in one call, with a receipt for each in their order: "
        "all of them, or none. Each is stored like an event, counts as a request of the rate "
        "limit, belongs to no step and owes nothing.",
        body=memory.TurnBatch,
        answer=memory.BatchWritten,
        team="writer",
    )
    get_event = ItemOperation(
        "GET",
        "/api/v7/event/{event_id}",
        summary="Get event detail",
        description="Return one event with its full `raw_dialogue`. An event of another account "
        "answers 404, the same as an event that does not exist.",
        answer=memory.Event,
        team="reader",
    )
    list_events = QueryOperation(
        "GET",
        "/api/v7/events",
        summary="List events",
        description="List the events of a user, complete and in the order of their times, page "
        "by page: all, those of a period, or those of a session. Writes nothing and counts no "
        "step.",
        query=memory.EventsQuery,
        answer=memory.EventList,
        team="reader",
    )
    list_sessions = QueryOperation(
        "GET",
        "/api/v7/sessions",
        summary="List sessions",
        description="List the sessions of a user, latest turn first, page by page. Writes "
        "nothing and counts no step.",
        query=memory.SessionsQuery,
        answer=memory.SessionList,
        team="reader",
    )
    change_event = ItemBodyOperation(
        "PATCH",
        "/api/v7/event/{event_id}",
        summary="Change an event",
        description="Change when a turn expires, whether retention leaves it, and whether "
        "searches find it. The text of a turn never changes.",
        body=memory.EventChange,
        answer=memory.Event,
        team="writer",
        errors=(NotFound, Conflict),
    )
    get_retention = QueryOperation(
        "GET",
        "/api/v7/memory/retention",
        summary="Read retention rules",
        description="Return how long turns are kept, and what the latest removals by expiry and "
        "retention removed.",
        query=forget.RetentionQuery,
        answer=forget.Retention,
        team="reader",
    )
    set_retention = BodyOperation(
        "PUT",
        "/api/v7/memory/retention",
        summary="Set a retention rule",
        description="Keep turns for a number of days, or a number of a user's newest turns; "
        "older ones are erased every night, with what was derived from them. Pinned turns stay.",
        body=forget.RetentionSet,
        answer=forget.Retention,
        team="owner",
    )
    erase_event = ItemOperation(
        "DELETE",
        "/api/v7/event/{event_id}",
        summary="Erase an event",
        description="Erase one turn permanently, with its index entries and the facts stored "
        "with it. L1 summaries that cover the turn stay; the response lists them.",
        answer=forget.EventErased,
        team="writer",
    )
    forget_memory = BodyOperation(
        "POST",
        "/api/v7/memory/forget",
        summary="Forget",
        description="Erase a session, a time range, a user or the whole account permanently. "
        "`dry_run` returns the counts and erases nothing.",
        body=forget.Forget,
        answer=forget.Forgotten,
        team="owner",
    )
    receipt_keys = PlainOperation(
        "GET",
        "/api/v7/receipts/keys",
        summary="Keys of receipts",
        description="Return the public keys that verify the signed receipts of erasures, as a "
        "JSON Web Key Set.",
        answer=forget.ReceiptKeys,
        needs_key=False,
    )
    file_command = BodyOperation(
        "POST",
        "/api/v7/memory/files",
        summary="Use memory files",
        description="Run one command of Anthropic's memory tool (`memory_20250818`): send the "
        "tool input as the model wrote it, get the text to return as the tool result. A command "
        "that cannot be carried out answers with `is_error`, not with an error status, because "
        "the model must read the message.",
        body=files.FileCommand,
        answer=files.FileDone,
    )
    file_history = QueryOperation(
        "GET",
        "/api/v7/memory/files",
        summary="Read versions of memory files",
        description="List the versions of a memory file, or of all files in a folder, newest "
        "first. With `version`, return the text of that version too.",
        query=files.FileQuery,
        answer=files.FileHistory,
        errors=(NotFound,),
    )
    draft_summary = BodyOperation(
        "POST",
        "/api/v7/memory/summarize/draft",
        summary="Draft an L1 summary",
        description="Draft an L1 summary of the session's turns since its last L1. A configured "
        "model writes it and every sentence is checked against the turns; without a model the "
        "draft is extractive. Stores nothing.",
        body=summaries.SummaryAsked,
        answer=summaries.SummaryDraft,
        rate_limit="chat",
        team="reader",
        errors=(Conflict,),
        takes_idempotency_key=False,
        is_retry_safe=False,
    )
    save_summary = BodyOperation(
        "POST",
        "/api/v7/memory/summarize",
        summary="Save an L1 summary",
        description="Store an L1 summary of the session's turns since its last L1. A summary of "
        "unusual length is stored too; `warning` says so.",
        body=summaries.Summary,
        answer=summaries.SummarySaved,
        team="writer",
    )
    make_map = BodyOperation(
        "POST",
        "/api/v7/memory/map",
        summary="Update the L2 map",
        description="Rebuild the user's map from the stored L1 summaries: the agent's latest "
        "map, then extractive headlines of the L1s that it does not cover. With a summarizing "
        "model, its lines replace the headlines; each line is checked against the L1s it names.",
        body=summaries.MapRequest,
        answer=summaries.MapUpdated,
        team="writer",
    )
    get_map = QueryOperation(
        "GET",
        "/api/v7/memory/map",
        summary="Read the L2 map",
        description="Return one version of the user's map. Default: the newest.",
        query=summaries.MapQuery,
        answer=summaries.MapVersion,
        team="reader",
        errors=(NotFound,),
    )
    get_start_pack = QueryOperation(
        "GET",
        "/api/v7/memory/start",
        summary="Get the start pack",
        description="Return what an agent reads before its first turn: constitution, critical "
        "facts, map, L1 summaries and lessons, fenced as data and within a token budget.",
        query=summaries.StartQuery,
        answer=summaries.StartPack,
        team="reader",
    )
    get_agent_memory = QueryOperation(
        "GET",
        "/api/v7/agent/memory",
        summary="Memory in one call",
        description="For agents that cannot follow the standard flow. With `query`, a search "
        "that counts no step; without it, the start pack.",
        query=summaries.AgentMemoryQuery,
        answer=summaries.AgentMemory,
        team="reader",
    )

    # --- Facts --------------------------------------------------------------------------------

    list_facts = QueryOperation(
        "GET",
        "/api/v7/memory/facts",
        summary="List facts",
        description="List the critical facts of a user with their history, newest first: those "
        "that hold, or held at `as_of`, or have another status.",
        query=facts.FactsQuery,
        answer=facts.FactList,
        team="reader",
    )
    list_instructions = QueryOperation(
        "GET",
        "/api/v7/memory/instructions",
        summary="List instructions",
        description="List the standing instructions and preferences of a user, newest first: "
        "facts that state one, and sentences recognised in the user's turns. Change and delete "
        "them as facts.",
        query=facts.FactsQuery,
        answer=facts.InstructionList,
        team="reader",
    )
    add_fact = BodyOperation(
        "POST",
        "/api/v7/memory/facts",
        summary="Add a fact",
        description="Store a critical fact without a turn. A fact that gives another value for "
        "the same thing as an earlier one supersedes it; the earlier one stays in the list.",
        body=facts.FactAdd,
        answer=facts.FactStored,
        team="writer",
        errors=(NotFound, Conflict),
    )
    change_fact = ItemBodyOperation(
        "PATCH",
        "/api/v7/memory/facts/{fact_id}",
        summary="Change a fact",
        description="Change the wording, the times or the pin of a fact. Another wording becomes "
        "a new fact, which supersedes this one.",
        body=facts.FactChange,
        answer=facts.FactStored,
        team="writer",
        errors=(NotFound, Conflict),
    )
    remove_fact = ItemOperation(
        "DELETE",
        "/api/v7/memory/facts/{fact_id}",
        summary="Delete a fact",
        description="Erase the text of a fact for good. Its id and times stay in the list of "
        "removed facts, so that chains of facts stay whole.",
        answer=facts.FactRemoved,
        team="writer",
        errors=(NotFound,),
    )

    # --- Teams --------------------------------------------------------------------------------

    list_teams = PlainOperation(
        "GET",
        "/api/v7/teams",
        summary="List teams",
        description="List the teams that the key may work in, with its role in each.",
        answer=teams.TeamList,
    )
    create_team = BodyOperation(
        "POST",
        "/api/v7/teams",
        summary="Create a team",
        description="Create a team with a memory of its own. The key's account becomes its owner.",
        body=teams.TeamCreate,
        answer=teams.Team,
    )
    accept_invitation = BodyOperation(
        "POST",
        "/api/v7/teams/accept",
        summary="Accept an invitation",
        description="Become a member of a team with the token of an invitation, which works "
        "once. Any account of the server may accept it.",
        body=teams.InvitationAccept,
        answer=teams.Team,
        errors=(NotFound,),
    )
    show_team = ItemOperation(
        "GET",
        "/api/v7/teams/{team_id}",
        summary="Show a team",
        description="Return one team. A team of which the key's account is no member answers "
        "404, the same as one that does not exist.",
        answer=teams.Team,
    )
    rename_team = ItemBodyOperation(
        "PATCH",
        "/api/v7/teams/{team_id}",
        summary="Rename a team",
        description="Change the name of a team. For owners of the team.",
        body=teams.TeamChange,
        answer=teams.Team,
    )
    delete_team = ItemQueryOperation(
        "DELETE",
        "/api/v7/teams/{team_id}",
        summary="Delete a team",
        description="Erase the memory of a team permanently, with a signed receipt, and end the "
        "team. For owners of the team; `confirm` must be its name.",
        query=teams.TeamDeletion,
        answer=teams.TeamDeleted,
        errors=(Conflict,),
    )
    list_members = ItemOperation(
        "GET",
        "/api/v7/teams/{team_id}/members",
        summary="List members",
        description="List the members of a team with their roles.",
        answer=teams.TeamMembers,
    )
    change_member = ItemBodyOperation(
        "PATCH",
        "/api/v7/teams/{team_id}/members",
        summary="Change a member's role",
        description="Change the role of a member, effective with the next request. For owners of "
        "the team, which keeps at least one owner.",
        body=teams.TeamMemberChange,
        answer=teams.TeamMembers,
        errors=(Conflict,),
    )
    remove_member = ItemQueryOperation(
        "DELETE",
        "/api/v7/teams/{team_id}/members",
        summary="Remove a member, or leave",
        description="Remove a member, who has no access from the next request on; without "
        "`member_id`, leave the team. What the member wrote stays with the team.",
        query=teams.TeamMemberRemoval,
        answer=teams.TeamMembers,
        errors=(Conflict,),
    )
    list_invitations = ItemOperation(
        "GET",
        "/api/v7/teams/{team_id}/invitations",
        summary="List invitations",
        description="List the invitations that nobody has accepted yet. For owners of the team.",
        answer=teams.InvitationList,
    )
    invite_member = ItemBodyOperation(
        "POST",
        "/api/v7/teams/{team_id}/invitations",
        summary="Invite a member",
        description="Create an invitation with a role. Its token is shown once, expires, and "
        "makes one account a member. For owners of the team.",
        body=teams.InvitationCreate,
        answer=teams.InvitationCreated,
        takes_idempotency_key=False,
        is_retry_safe=False,
    )
    withdraw_invitation = ItemQueryOperation(
        "DELETE",
        "/api/v7/teams/{team_id}/invitations",
        summary="Withdraw an invitation",
        description="Withdraw an invitation, so that nobody can accept it. For owners of the team.",
        query=teams.InvitationRemoval,
        answer=teams.InvitationList,
    )
    team_audit = ItemQueryOperation(
        "GET",
        "/api/v7/teams/{team_id}/audit",
        summary="Audit entries of a team",
        description="Return the entries of the audit trail about a team, newest first: creation, "
        "names, invitations, members and roles. For owners of the team.",
        query=teams.TeamAuditQuery,
        answer=teams.TeamAudit,
    )

    # --- Agents, chat, models -----------------------------------------------------------------

    look_again = BodyOperation(
        "POST",
        "/api/v7/agent/second-look",
        summary="Second look",
        description="Check a stored answer: every specific claim carries a ref or a marker, "
        "every ref is an event that a search of this session returned, and the cited event "
        "supports the claim. The outcome is counted in the compliance figures.",
        body=agent.SecondLook,
        answer=agent.SecondLooked,
        errors=(Conflict,),
        takes_idempotency_key=False,
    )
    agent_compliance = QueryOperation(
        "GET",
        "/api/v7/agent/compliance",
        summary="Compliance",
        description="Count how often agents searched, remembered, sealed, rated and passed a "
        "second look, beside how often each was due.",
        query=agent.ComplianceQuery,
        answer=agent.Compliance,
    )
    chat_with_agent = BodyOperation(
        "POST",
        "/api/v7/agent/chat",
        summary="Chat with the service agent",
        description="Talk with the service's own agent: it searches memory, answers from the "
        "hits and stores the turn. With `Accept: text/event-stream` the response is a stream of "
        "the events `hits`, `delta`, `look`, `again` and a final `answer` or `error`.",
        body=agent.Chat,
        answer=agent.ChatAnswer,
        media_type=EVENT_STREAM,
        rate_limit="chat",
    )
    complete_chat = BodyOperation(
        "POST",
        "/v1/chat/completions",
        summary="Chat completions",
        description="OpenAI-compatible chat completions. The configured chat model answers, with "
        "what memory knows inserted before the user's last message, and the turn is stored. "
        "Tools, formats, images and other fields are passed on to the model. With `stream` the "
        "answer arrives in chunks as the model writes it. Without a model, quotes answer.",
        body=openai_api.Completion,
        answer=openai_api.Completed,
        media_type=EVENT_STREAM,
        rate_limit="chat",
        body_bytes_max="file_bytes_max",
    )
    respond = BodyOperation(
        "POST",
        "/v1/responses",
        summary="Responses",
        description="OpenAI-compatible responses: the same as chat completions by the newer "
        "interface, with function tools. With `stream` the answer arrives as its events. "
        "Conversations are not kept: send the whole one in `input`.",
        body=openai_api.ResponseRequest,
        answer=openai_api.ResponseObject,
        media_type=EVENT_STREAM,
        rate_limit="chat",
        body_bytes_max="file_bytes_max",
    )
    embed = BodyOperation(
        "POST",
        "/v1/embeddings",
        summary="Embeddings",
        description="OpenAI-compatible embeddings: the vectors of texts, by the server's "
        "embedder. Nothing is stored.",
        body=openai_api.Embed,
        answer=openai_api.Embedded,
        takes_idempotency_key=False,
    )
    list_models = PlainOperation(
        "GET",
        "/v1/models",
        summary="List models",
        description="List the models as OpenAI's clients expect them: `memory`, `memory-quotes`, "
        "the configured chat models that this account may use, and the embedder.",
        answer=openai_api.ServedModels,
    )
    show_model = ItemOperation(
        "GET",
        "/v1/models/{model}",
        summary="Show a model",
        description="Return one entry of the list of models.",
        answer=openai_api.ServedModel,
        id_has_slashes=True,
    )
    get_prompt = QueryOperation(
        "GET",
        "/api/v7/agent/prompt",
        summary="Get the agent prompt",
        description="Return the complete prompt for a user's agent: the constitution with "
        "service lines and seal, then the user's own part.",
        query=agent.PromptQuery,
        answer=agent.AgentPrompt,
    )
    put_prompt = BodyOperation(
        "PUT",
        "/api/v7/agent/prompt",
        summary="Set the agent prompt",
        description="Set the user's own part of the agent prompt. An empty text removes it.",
        body=agent.PromptWrite,
        answer=agent.AgentPrompt,
    )

    # --- Tools: feedback, cubes, sandbox, files -----------------------------------------------

    submit_feedback = BodyOperation(
        "POST",
        "/api/v7/feedback",
        summary="Submit feedback",
        description="Report a bug, an anomaly, an issue with a cube, an improvement or a "
        "security problem to the owner.",
        body=feedback.Feedback,
        answer=feedback.FeedbackSaved,
        rate_limit="feedback",
    )
    list_feedback = QueryOperation(
        "GET",
        "/api/v7/feedback",
        summary="Read feedback",
        description="List all feedback, newest first, in pages. Owner only, with a key that is "
        "not pinned.",
        query=feedback.FeedbackQuery,
        answer=feedback.FeedbackList,
        errors=(NotFound,),
    )
    create_cube = BodyOperation(
        "POST",
        "/api/v7/experience/create",
        summary="Save an experience cube",
        description="Store a private cube. The next relevant search of the account returns it.",
        body=cubes.CubeCreate,
        answer=cubes.CubeCreated,
        errors=(NotFound,),
    )
    vote_on_cube = BodyOperation(
        "POST",
        "/api/v7/experience/vote",
        summary="Vote on a cube",
        description="Rate a cube. Replaces an earlier rating by the user. An account counts "
        "once, by the majority of its users. Three accounts that agree make a published cube "
        "trusted or retired.",
        body=cubes.CubeVote,
        answer=cubes.CubeVoted,
        errors=(NotFound,),
    )
    execute_code = BodyOperation(
        "POST",
        "/api/execute/code",
        summary="Run code in the sandbox",
        description="Run Python without network access, with no files but its own, and within "
        "time and memory limits. numpy and matplotlib are available.",
        body=execution.Execution,
        answer=execution.Executed,
        rate_limit="sandbox",
    )
    make_file = BodyOperation(
        "POST",
        "/api/v7/tools/create-file",
        summary="Create a file",
        description="Create a file for the account. Download it by the name in the response. "
        "Send binary types as base64; their content is checked.",
        body=files.FileCreate,
        answer=files.CreatedFile,
        body_bytes_max="file_bytes_max",
    )
    download = ItemQueryOperation[files.DownloadQuery, bytes](
        "GET",
        "/download/{filename}",
        summary="Download a file",
        description="Download a created file, always as an attachment. Needs a key of its "
        "account, or the `exp` and `sig` of a signed link that has not expired.",
        query=files.DownloadQuery,
        media_type="*/*",
        needs_key=False,
        has_ranges=True,
        errors=(Unauthorized,),
    )
    delete_file = ItemOperation(
        "DELETE",
        "/download/{filename}",
        summary="Erase a file",
        description="Erase a created file and release its share of the quota.",
        answer=forget.FileErased,
    )

    # --- System permissions -------------------------------------------------------------------

    check_permission = BodyOperation(
        "POST",
        "/api/v7/sysperm/check",
        summary="Check a permission",
        description="Return whether an agent may perform this action on this path now. Check "
        "before each action, and act only on `allowed: true`; treat an error as a denial.",
        body=permissions.PermissionCheck,
        answer=permissions.PermissionChecked,
        rate_limit="sysperm",
        takes_idempotency_key=False,
        is_retry_safe=False,
    )
    grant_permission = BodyOperation(
        "POST",
        "/api/v7/sysperm/grant",
        summary="Grant a permission",
        description="Allow an agent some actions on some paths for up to 240 minutes. Owner "
        "only, with a key that is neither pinned nor read-only.",
        body=permissions.GrantRequest,
        answer=permissions.Granted,
    )
    list_grants = QueryOperation(
        "GET",
        "/api/v7/sysperm/grants",
        summary="List grants in force",
        description="List the grants in force, newest first, in pages. Owner only, with a key "
        "that is neither pinned nor read-only.",
        query=permissions.GrantsQuery,
        answer=permissions.GrantList,
        errors=(NotFound,),
    )
    log_permitted_action = BodyOperation(
        "POST",
        "/api/v7/sysperm/log",
        summary="Log a permitted action",
        description="Record the result of an action that a check of this account allowed. 409 "
        "when no check allowed it.",
        body=permissions.ActionLog,
        answer=permissions.ActionLogged,
        rate_limit="sysperm",
    )
    revoke_permission = BodyOperation(
        "POST",
        "/api/v7/sysperm/revoke",
        summary="Revoke a permission",
        description="End a grant. The next check denies. Owner only, with a key that is neither "
        "pinned nor read-only.",
        body=permissions.GrantRevocation,
        answer=permissions.GrantRevoked,
        errors=(NotFound,),
    )
    read_audit = QueryOperation(
        "GET",
        "/api/v7/sysperm/audit",
        summary="Read the audit trail",
        description="Return the audit trail in order: grants, checks, logs and revocations. "
        "Owner only, with a key that is neither pinned nor read-only.",
        query=permissions.AuditQuery,
        answer=permissions.AuditPage,
    )

    # --- The service --------------------------------------------------------------------------

    list_tools = QueryOperation(
        "GET",
        "/api/v7/tools",
        summary="Tools for agents",
        description="Describe the tools of this memory in the format of a model API.",
        query=agent_tools.ToolsQuery,
        answer=agent_tools.ToolsListed,
    )
    own_key = QueryOperation(
        "GET",
        "/api/v7/key",
        summary="This key",
        description="Describe the key of the request: its account, the `user_id` used when a "
        "request names none, and its permissions.",
        query=status.OwnKeyQuery,
        answer=status.OwnKey,
    )
    status_record = PlainOperation(
        "GET",
        "/api/v7/status",
        summary="Status record",
        description="Describe the service, the recommended agent flow and its current state. "
        "Contains nothing private.",
        answer=status.StatusRecord,
        needs_key=False,
    )
    ready = PlainOperation(
        "GET",
        "/readyz",
        summary="Ready",
        description="Readiness probe: tests store and embedder. 503 names the one that fails.",
        answer=status.Readiness,
        needs_key=False,
    )


class Documents:
    """Pages and probes, and a second path of an operation: the clients have no method for them."""

    home = PlainOperation(
        "GET",
        "/",
        summary="Home",
        description="A page for people; the status record for clients that accept "
        "`application/json` and no HTML.",
        answer=status.StatusRecord,
        media_type="text/html",
        needs_key=False,
    )
    alive = PlainOperation[None](
        "GET",
        "/healthz",
        summary="Alive",
        description="Liveness probe.",
        media_type="application/json",
        needs_key=False,
        is_constant=True,
    )
    prometheus_metrics = PlainOperation[None](
        "GET",
        "/metrics",
        summary="Metrics",
        description="Request counts and durations by endpoint, for Prometheus. Open to this "
        "machine; other machines need a key of the owner.",
        media_type="text/plain",
        needs_key=False,
        errors=(Unauthorized, Forbidden),
    )
    openapi_document = PlainOperation[None](
        "GET",
        "/openapi.json",
        summary="OpenAPI",
        description="This document: OpenAPI 3.1.",
        media_type="application/json",
        needs_key=False,
        is_constant=True,
    )
    llms_txt = PlainOperation[None](
        "GET",
        "/llms.txt",
        summary="For language models",
        description="What this service is and how to use it, for language models (llmstxt.org).",
        media_type="text/plain",
        needs_key=False,
        is_constant=True,
    )
    style_sheet = PlainOperation[None](
        "GET",
        "/docs/style.css",
        summary="Style sheet",
        description="The style sheet of the pages.",
        media_type="text/css",
        needs_key=False,
        is_constant=True,
    )
    docs_page = PlainOperation[None](
        "GET",
        "/docs",
        summary="Documentation",
        description="The documentation, for people: its first page, or with `q` the sections "
        "that have these words. Loads nothing from other hosts.",
        media_type="text/html",
        needs_key=False,
    )
    docs_article = ItemOperation[None](
        "GET",
        "/docs/{page}",
        summary="Page of the documentation",
        description="A guide, a page of the reference, or `api` and `api/{operation_id}`: the "
        "endpoints, with a curl command for each.",
        media_type="text/html",
        needs_key=False,
        id_has_slashes=True,
        errors=(NotFound,),
    )
    execute_code_v7 = BodyOperation(
        "POST",
        "/api/v7/execute/code",
        summary="Run code in the sandbox",
        description="The same as `POST /api/execute/code`, under the prefix of the other paths.",
        body=execution.Execution,
        answer=execution.Executed,
        rate_limit="sandbox",
    )


def _declared(owner: type) -> list[AnyOperation]:
    return [value for value in vars(owner).values() if isinstance(value, Operation)]


OPERATIONS: tuple[AnyOperation, ...] = (*_declared(Operations), *_declared(Documents))
