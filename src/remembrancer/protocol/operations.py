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
    imports,
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
        "POST", "/api/v7/memory", search.MemoryQuery, search.MemoryAnswer, team="reader"
    )
    """Search memory.

    Search one user's memory by meaning and by words, best hit first. An empty memory returns no
    hits, not an error."""
    explain_search = BodyOperation(
        "POST", "/api/v7/memory/explain", search.MemoryQuery, search.Explanation, team="reader"
    )
    """Explain a search.

    Run a search and return every reason for each hit, with the result and duration of each
    stage. Writes nothing and counts no step."""
    remember_turn = BodyOperation(
        "POST", "/api/v7/remember", memory.Turn, memory.Remembered, team="writer"
    )
    """Remember a turn.

    Store a turn. When the response arrives, the turn is durable and the next search finds it."""
    save_event = BodyOperation(
        "POST", "/api/v7/event/write", memory.EventWrite, memory.EventWritten, team="writer"
    )
    """Save an event.

    Store an event for any user of the account. Does what `remember` does for a single turn."""
    save_batch = BodyOperation(
        "POST", "/api/v7/memory/batch", memory.TurnBatch, memory.BatchWritten, team="writer"
    )
    """Save a batch of turns.

    Store up to 500 turns in one call, with a receipt for each in their order: all of them, or
    none. Each is stored like an event, counts as a request of the rate limit, belongs to no
    step and owes nothing."""
    import_records = BodyOperation(
        "POST",
        "/api/v7/memory/import",
        imports.RecordImport,
        imports.RecordsImported,
        body_bytes_max="file_bytes_max",
        takes_idempotency_key=False,
    )
    """Import turns and facts.

    Store up to 500 turns and facts of another source, as `remembrancer import` does. What memory
    has is not stored again, so that a request may be repeated. Each record counts as a request of
    the rate limit, belongs to no step and owes nothing."""
    get_event = ItemOperation("GET", "/api/v7/event/{event_id}", answer=memory.Event, team="reader")
    """Get event detail.

    Return one event with its full `raw_dialogue`. An event of another account answers 404, the
    same as an event that does not exist."""
    list_events = QueryOperation(
        "GET", "/api/v7/events", memory.EventsQuery, memory.EventList, team="reader"
    )
    """List events.

    List the events of a user, complete and in the order of their times, page by page: all,
    those of a period, or those of a session. Writes nothing and counts no step."""
    list_users = QueryOperation("GET", "/api/v7/users", memory.UsersQuery, memory.UserList)
    """List users.

    List the users of the account that have a memory, by name, page by page. Writes nothing and
    counts no step."""
    list_sessions = QueryOperation(
        "GET", "/api/v7/sessions", memory.SessionsQuery, memory.SessionList, team="reader"
    )
    """List sessions.

    List the sessions of a user, latest turn first, page by page. Writes nothing and counts no
    step."""
    change_event = ItemBodyOperation(
        "PATCH", "/api/v7/event/{event_id}", memory.EventChange, memory.Event, team="writer"
    )
    """Change an event.

    Change when a turn expires, whether retention leaves it, and whether searches find it. The
    text of a turn never changes."""
    get_retention = QueryOperation(
        "GET", "/api/v7/memory/retention", forget.RetentionQuery, forget.Retention, team="reader"
    )
    """Read retention rules.

    Return how long turns are kept, and what the latest removals by expiry and retention
    removed."""
    set_retention = BodyOperation(
        "PUT", "/api/v7/memory/retention", forget.RetentionSet, forget.Retention, team="owner"
    )
    """Set a retention rule.

    Keep turns for a number of days, or a number of a user's newest turns; older ones are erased
    every night, with what was derived from them. Pinned turns stay."""
    erase_event = ItemOperation(
        "DELETE", "/api/v7/event/{event_id}", answer=forget.EventErased, team="writer"
    )
    """Erase an event.

    Erase one turn permanently, with its index entries and the facts stored with it. L1
    summaries that cover the turn stay; the response lists them."""
    forget_memory = BodyOperation(
        "POST", "/api/v7/memory/forget", forget.Forget, forget.Forgotten, team="owner"
    )
    """Forget.

    Erase a session, a time range, a user or the whole account permanently. `dry_run` returns
    the counts and erases nothing."""
    receipt_keys = PlainOperation(
        "GET", "/api/v7/receipts/keys", answer=forget.ReceiptKeys, needs_key=False
    )
    """Keys of receipts.

    Return the public keys that verify the signed receipts of erasures, as a JSON Web Key Set."""
    file_command = BodyOperation("POST", "/api/v7/memory/files", files.FileCommand, files.FileDone)
    """Use memory files.

    Run one command of Anthropic's memory tool (`memory_20250818`): send the tool input as the
    model wrote it, get the text to return as the tool result. A command that cannot be carried
    out answers with `is_error`, not with an error status, because the model must read the
    message."""
    file_history = QueryOperation(
        "GET", "/api/v7/memory/files", files.FileQuery, files.FileHistory, errors=(NotFound,)
    )
    """Read versions of memory files.

    List the versions of a memory file, or of all files in a folder, newest first. With
    `version`, return the text of that version too."""
    draft_summary = BodyOperation(
        "POST",
        "/api/v7/memory/summarize/draft",
        summaries.SummaryAsked,
        summaries.SummaryDraft,
        rate_limit="chat",
        team="reader",
        errors=(Conflict,),
        is_retry_safe=False,
    )
    """Draft an L1 summary.

    Draft an L1 summary of the session's turns since its last L1. A configured model writes it
    and every sentence is checked against the turns; without a model the draft is extractive.
    Stores nothing."""
    save_summary = BodyOperation(
        "POST", "/api/v7/memory/summarize", summaries.Summary, summaries.SummarySaved, team="writer"
    )
    """Save an L1 summary.

    Store an L1 summary of the session's turns since its last L1. A summary of unusual length is
    stored too; `warning` says so."""
    make_map = BodyOperation(
        "POST", "/api/v7/memory/map", summaries.MapRequest, summaries.MapUpdated, team="writer"
    )
    """Update the L2 map.

    Rebuild the user's map from the stored L1 summaries: the agent's latest map, then extractive
    headlines of the L1s that it does not cover. With a summarizing model, its lines replace the
    headlines; each line is checked against the L1s it names."""
    get_map = QueryOperation(
        "GET", "/api/v7/memory/map", summaries.MapQuery, summaries.MapVersion, team="reader"
    )
    """Read the L2 map.

    Return one version of the user's map. Default: the newest."""
    get_start_pack = QueryOperation(
        "GET", "/api/v7/memory/start", summaries.StartQuery, summaries.StartPack, team="reader"
    )
    """Get the start pack.

    Return what an agent reads before its first turn: constitution, critical facts, map, L1
    summaries and lessons, fenced as data and within a token budget."""
    get_agent_memory = QueryOperation(
        "GET",
        "/api/v7/agent/memory",
        summaries.AgentMemoryQuery,
        summaries.AgentMemory,
        team="reader",
    )
    """Memory in one call.

    For agents that cannot follow the standard flow. With `query`, a search that counts no step;
    without it, the start pack."""

    # --- Facts --------------------------------------------------------------------------------

    list_facts = QueryOperation(
        "GET", "/api/v7/memory/facts", facts.FactsQuery, facts.FactList, team="reader"
    )
    """List facts.

    List the critical facts of a user with their history, newest first: those that hold, or held
    at `as_of`, or have another status."""
    list_instructions = QueryOperation(
        "GET", "/api/v7/memory/instructions", facts.FactsQuery, facts.InstructionList, team="reader"
    )
    """List instructions.

    List the standing instructions and preferences of a user, newest first: facts that state
    one, and sentences recognised in the user's turns."""
    add_instruction = BodyOperation(
        "POST", "/api/v7/memory/instructions", facts.FactAdd, facts.FactStored, team="writer"
    )
    """Add an instruction.

    Store a standing instruction without a turn: a fact that is one whatever its wording."""
    change_instruction = ItemBodyOperation(
        "PATCH",
        "/api/v7/memory/instructions/{instruction_id}",
        facts.FactChange,
        facts.FactStored,
        team="writer",
    )
    """Change an instruction.

    The same as the change of a fact: the `instruction_id` is a `fact_id`."""
    remove_instruction = ItemOperation(
        "DELETE",
        "/api/v7/memory/instructions/{instruction_id}",
        answer=facts.FactRemoved,
        team="writer",
    )
    """Delete an instruction.

    The same as the deletion of a fact: the `instruction_id` is a `fact_id`."""
    add_fact = BodyOperation(
        "POST", "/api/v7/memory/facts", facts.FactAdd, facts.FactStored, team="writer"
    )
    """Add a fact.

    Store a critical fact without a turn. A fact that gives another value for the same thing as
    an earlier one supersedes it; the earlier one stays in the list."""
    change_fact = ItemBodyOperation(
        "PATCH", "/api/v7/memory/facts/{fact_id}", facts.FactChange, facts.FactStored, team="writer"
    )
    """Change a fact.

    Change the wording, the times or the pin of a fact. The old wording becomes one of its
    versions."""
    remove_fact = ItemOperation(
        "DELETE", "/api/v7/memory/facts/{fact_id}", answer=facts.FactRemoved, team="writer"
    )
    """Delete a fact.

    Erase the text of a fact and of its versions for good. Its id and times stay in the list of
    removed facts, so that chains of facts stay whole."""

    # --- Teams --------------------------------------------------------------------------------

    list_teams = PlainOperation("GET", "/api/v7/teams", answer=teams.TeamList)
    """List teams.

    List the teams that the key may work in, with its role in each."""
    create_team = BodyOperation("POST", "/api/v7/teams", teams.TeamCreate, teams.Team)
    """Create a team.

    Create a team with a memory of its own. The key's account becomes its owner."""
    accept_invitation = BodyOperation(
        "POST", "/api/v7/teams/accept", teams.InvitationAccept, teams.Team, errors=(NotFound,)
    )
    """Accept an invitation.

    Become a member of a team with the token of an invitation, which works once. Any account of
    the server may accept it."""
    show_team = ItemOperation("GET", "/api/v7/teams/{team_id}", answer=teams.Team)
    """Show a team.

    Return one team. A team of which the key's account is no member answers 404, the same as one
    that does not exist."""
    rename_team = ItemBodyOperation(
        "PATCH", "/api/v7/teams/{team_id}", teams.TeamChange, teams.Team
    )
    """Rename a team.

    Change the name of a team. For owners of the team."""
    delete_team = ItemQueryOperation(
        "DELETE", "/api/v7/teams/{team_id}", teams.TeamDeletion, teams.TeamDeleted
    )
    """Delete a team.

    Erase the memory of a team permanently, with a signed receipt, and end the team. For owners
    of the team; `confirm` must be its name."""
    list_members = ItemOperation("GET", "/api/v7/teams/{team_id}/members", answer=teams.TeamMembers)
    """List members.

    List the members of a team with their roles."""
    change_member = ItemBodyOperation(
        "PATCH", "/api/v7/teams/{team_id}/members", teams.TeamMemberChange, teams.TeamMembers
    )
    """Change a member's role.

    Change the role of a member, effective with the next request. For owners of the team, which
    keeps at least one owner."""
    remove_member = ItemQueryOperation(
        "DELETE", "/api/v7/teams/{team_id}/members", teams.TeamMemberRemoval, teams.TeamMembers
    )
    """Remove a member, or leave.

    Remove a member, who has no access from the next request on; without `member_id`, leave the
    team. What the member wrote stays with the team."""
    list_invitations = ItemOperation(
        "GET", "/api/v7/teams/{team_id}/invitations", answer=teams.InvitationList
    )
    """List invitations.

    List the invitations that nobody has accepted yet. For owners of the team."""
    invite_member = ItemBodyOperation(
        "POST",
        "/api/v7/teams/{team_id}/invitations",
        teams.InvitationCreate,
        teams.InvitationCreated,
        is_retry_safe=False,
    )
    """Invite a member.

    Create an invitation with a role. Its token is shown once, expires, and makes one account a
    member. For owners of the team."""
    withdraw_invitation = ItemQueryOperation(
        "DELETE",
        "/api/v7/teams/{team_id}/invitations",
        teams.InvitationRemoval,
        teams.InvitationList,
    )
    """Withdraw an invitation.

    Withdraw an invitation, so that nobody can accept it. For owners of the team."""
    team_audit = ItemQueryOperation(
        "GET", "/api/v7/teams/{team_id}/audit", teams.TeamAuditQuery, teams.TeamAudit
    )
    """Audit entries of a team.

    Return the entries of the audit trail about a team, newest first: creation, names,
    invitations, members and roles. For owners of the team."""

    # --- Agents, chat, models -----------------------------------------------------------------

    look_again = BodyOperation(
        "POST",
        "/api/v7/agent/second-look",
        agent.SecondLook,
        agent.SecondLooked,
        errors=(Conflict,),
        takes_idempotency_key=False,
    )
    """Second look.

    Check a stored answer: every specific claim carries a ref or a marker, every ref is an event
    that a search of this session returned, and the cited event supports the claim. The outcome
    is counted in the compliance figures."""
    agent_compliance = QueryOperation(
        "GET", "/api/v7/agent/compliance", agent.ComplianceQuery, agent.Compliance
    )
    """Compliance.

    Count how often agents searched, remembered, sealed, rated and passed a second look, beside
    how often each was due."""
    chat_with_agent = BodyOperation(
        "POST",
        "/api/v7/agent/chat",
        agent.Chat,
        agent.ChatAnswer,
        media_type=EVENT_STREAM,
        rate_limit="chat",
    )
    """Chat with the service agent.

    Talk with the service's own agent: it searches memory, answers from the hits and stores the
    turn. With `Accept: text/event-stream` the response is a stream of the events `hits`,
    `delta`, `look`, `again` and a final `answer` or `error`."""
    complete_chat = BodyOperation(
        "POST",
        "/v1/chat/completions",
        openai_api.Completion,
        openai_api.Completed,
        media_type=EVENT_STREAM,
        rate_limit="chat",
        body_bytes_max="file_bytes_max",
    )
    """Chat completions.

    OpenAI-compatible chat completions. The configured chat model answers, with what memory
    knows inserted before the user's last message, and the turn is stored. Tools, formats,
    images and other fields are passed on to the model. With `stream` the answer arrives in
    chunks as the model writes it. Without a model, quotes answer."""
    respond = BodyOperation(
        "POST",
        "/v1/responses",
        openai_api.ResponseRequest,
        openai_api.ResponseObject,
        media_type=EVENT_STREAM,
        rate_limit="chat",
        body_bytes_max="file_bytes_max",
    )
    """Responses.

    OpenAI-compatible responses: the same as chat completions by the newer interface, with
    function tools. With `stream` the answer arrives as its events. Conversations are not kept:
    send the whole one in `input`."""
    embed = BodyOperation(
        "POST", "/v1/embeddings", openai_api.Embed, openai_api.Embedded, takes_idempotency_key=False
    )
    """Embeddings.

    OpenAI-compatible embeddings: the vectors of texts, by the server's embedder. Nothing is
    stored."""
    list_models = PlainOperation("GET", "/v1/models", answer=openai_api.ServedModels)
    """List models.

    List the models as OpenAI's clients expect them: `memory`, `memory-quotes`, the configured
    chat models that this account may use, and the embedder."""
    show_model = ItemOperation(
        "GET", "/v1/models/{model}", answer=openai_api.ServedModel, id_has_slashes=True
    )
    """Show a model.

    Return one entry of the list of models."""
    get_prompt = QueryOperation("GET", "/api/v7/agent/prompt", agent.PromptQuery, agent.AgentPrompt)
    """Get the agent prompt.

    Return the complete prompt for a user's agent: the constitution with service lines and seal,
    then the user's own part."""
    put_prompt = BodyOperation("PUT", "/api/v7/agent/prompt", agent.PromptWrite, agent.AgentPrompt)
    """Set the agent prompt.

    Set the user's own part of the agent prompt. An empty text removes it."""

    # --- Tools: feedback, cubes, sandbox, files -----------------------------------------------

    submit_feedback = BodyOperation(
        "POST", "/api/v7/feedback", feedback.Feedback, feedback.FeedbackSaved, rate_limit="feedback"
    )
    """Submit feedback.

    Report a bug, an anomaly, an issue with a cube, an improvement or a security problem to the
    owner."""
    list_feedback = QueryOperation(
        "GET", "/api/v7/feedback", feedback.FeedbackQuery, feedback.FeedbackList, errors=(NotFound,)
    )
    """Read feedback.

    List all feedback, newest first, in pages. Owner only, with a key that is not pinned."""
    create_cube = BodyOperation(
        "POST", "/api/v7/experience/create", cubes.CubeCreate, cubes.CubeCreated, errors=(NotFound,)
    )
    """Save an experience cube.

    Store a private cube. The next relevant search of the account returns it."""
    vote_on_cube = BodyOperation(
        "POST", "/api/v7/experience/vote", cubes.CubeVote, cubes.CubeVoted, errors=(NotFound,)
    )
    """Vote on a cube.

    Rate a cube. Replaces an earlier rating by the user. An account counts once, by the majority
    of its users. Three accounts that agree make a published cube trusted or retired."""
    execute_code = BodyOperation(
        "POST", "/api/execute/code", execution.Execution, execution.Executed, rate_limit="sandbox"
    )
    """Run code in the sandbox.

    Run Python without network access, with no files but its own, and within time and memory
    limits. numpy and matplotlib are available."""
    make_file = BodyOperation(
        "POST",
        "/api/v7/tools/create-file",
        files.FileCreate,
        files.CreatedFile,
        body_bytes_max="file_bytes_max",
    )
    """Create a file.

    Create a file for the account. Download it by the name in the response. Send binary types as
    base64; their content is checked."""
    download = ItemQueryOperation[files.DownloadQuery, bytes](
        "GET",
        "/download/{filename}",
        files.DownloadQuery,
        media_type="*/*",
        needs_key=False,
        has_ranges=True,
        errors=(Unauthorized,),
    )
    """Download a file.

    Download a created file, always as an attachment. Needs a key of its account, or the `exp`
    and `sig` of a signed link that has not expired."""
    delete_file = ItemOperation("DELETE", "/download/{filename}", answer=forget.FileErased)
    """Erase a file.

    Erase a created file and release its share of the quota."""

    # --- System permissions -------------------------------------------------------------------

    check_permission = BodyOperation(
        "POST",
        "/api/v7/sysperm/check",
        permissions.PermissionCheck,
        permissions.PermissionChecked,
        rate_limit="sysperm",
        is_retry_safe=False,
    )
    """Check a permission.

    Return whether an agent may perform this action on this path now. Check before each action,
    and act only on `allowed: true`; treat an error as a denial."""
    grant_permission = BodyOperation(
        "POST", "/api/v7/sysperm/grant", permissions.GrantRequest, permissions.Granted
    )
    """Grant a permission.

    Allow an agent some actions on some paths for up to 240 minutes. Owner only, with a key that
    is neither pinned nor read-only."""
    list_grants = QueryOperation(
        "GET",
        "/api/v7/sysperm/grants",
        permissions.GrantsQuery,
        permissions.GrantList,
        errors=(NotFound,),
    )
    """List grants in force.

    List the grants in force, newest first, in pages. Owner only, with a key that is neither
    pinned nor read-only."""
    log_permitted_action = BodyOperation(
        "POST",
        "/api/v7/sysperm/log",
        permissions.ActionLog,
        permissions.ActionLogged,
        rate_limit="sysperm",
    )
    """Log a permitted action.

    Record the result of an action that a check of this account allowed. 409 when no check
    allowed it."""
    revoke_permission = BodyOperation(
        "POST",
        "/api/v7/sysperm/revoke",
        permissions.GrantRevocation,
        permissions.GrantRevoked,
        errors=(NotFound,),
    )
    """Revoke a permission.

    End a grant. The next check denies. Owner only, with a key that is neither pinned nor
    read-only."""
    read_audit = QueryOperation(
        "GET", "/api/v7/sysperm/audit", permissions.AuditQuery, permissions.AuditPage
    )
    """Read the audit trail.

    Return the audit trail in order: grants, checks, logs and revocations. Owner only, with a
    key that is neither pinned nor read-only."""

    # --- The service --------------------------------------------------------------------------

    list_tools = QueryOperation(
        "GET", "/api/v7/tools", agent_tools.ToolsQuery, agent_tools.ToolsListed
    )
    """Tools for agents.

    Describe the tools of this memory in the format of a model API."""
    own_key = QueryOperation("GET", "/api/v7/key", status.OwnKeyQuery, status.OwnKey)
    """This key.

    Describe the key of the request: its account, the `user_id` used when a request names none,
    and its permissions."""
    status_record = PlainOperation(
        "GET", "/api/v7/status", answer=status.StatusRecord, needs_key=False
    )
    """Status record.

    Describe the service, the recommended agent flow and its current state. Contains nothing
    private."""
    ready = PlainOperation("GET", "/readyz", answer=status.Readiness, needs_key=False)
    """Ready.

    Readiness probe: tests store and embedder. 503 names the one that fails."""


class Documents:
    """Pages and probes, and a second path of an operation: the clients have no method for them."""

    home = PlainOperation(
        "GET", "/", answer=status.StatusRecord, media_type="text/html", needs_key=False
    )
    """Home.

    A page for people; the status record for clients that accept `application/json` and no HTML."""
    alive = PlainOperation[None](
        "GET", "/healthz", media_type="application/json", needs_key=False, is_constant=True
    )
    """Alive.

    Liveness probe."""
    prometheus_metrics = PlainOperation[None](
        "GET",
        "/metrics",
        media_type="text/plain",
        needs_key=False,
        errors=(Unauthorized, Forbidden),
    )
    """Metrics.

    Request counts and durations by endpoint, for Prometheus. Open to this machine; other
    machines need a key of the owner."""
    openapi_document = PlainOperation[None](
        "GET", "/openapi.json", media_type="application/json", needs_key=False, is_constant=True
    )
    """OpenAPI.

    This document: OpenAPI 3.1."""
    llms_txt = PlainOperation[None](
        "GET", "/llms.txt", media_type="text/plain", needs_key=False, is_constant=True
    )
    """For language models.

    What this service is and how to use it, for language models (llmstxt.org)."""
    style_sheet = PlainOperation[None](
        "GET", "/docs/style.css", media_type="text/css", needs_key=False, is_constant=True
    )
    """Style sheet.

    The style sheet of the pages."""
    docs_page = PlainOperation[None]("GET", "/docs", media_type="text/html", needs_key=False)
    """Documentation.

    The documentation, for people: its first page, or with `q` the sections that have these
    words. Loads nothing from other hosts."""
    docs_article = ItemOperation[None](
        "GET", "/docs/{page}", media_type="text/html", needs_key=False, id_has_slashes=True
    )
    """Page of the documentation.

    A guide, a page of the reference, or `api` and `api/{operation_id}`: the endpoints, with a
    curl command for each."""
    execute_code_v7 = BodyOperation(
        "POST",
        "/api/v7/execute/code",
        execution.Execution,
        execution.Executed,
        rate_limit="sandbox",
    )
    """Run code in the sandbox.

    The same as `POST /api/execute/code`, under the prefix of the other paths."""


def _declared(owner: type) -> list[AnyOperation]:
    return [value for value in vars(owner).values() if isinstance(value, Operation)]


OPERATIONS: tuple[AnyOperation, ...] = (*_declared(Operations), *_declared(Documents))
