// Generated from the OpenAPI document by generate.py. Do not edit.
export type ActionLog = { grant_id: string; path: string; action: "read" | "write" | "exec" | "delete"; result: string };
export type ActionLogged = { logged: boolean; seq: number; detail?: string | null };
export type Adjustment = { name: string; adds: number };
export type AgentFigures = { account: string; hint?: string | null; label?: string | null; figures: Figures };
export type AgentMemory = { user_id: string; hits?: Hit[] | null; shared_cubes?: SharedCube[] | null; facts?: FactHit[] | null; instructions?: InstructionHit[] | null; summaries?: SummaryHit[] | null; step?: number | null; answerable?: number | null; total_hits?: number | null; help_hits?: Help[] | null; open_tasks?: OpenTask[] | null; prompt_text?: string | null; constitution_version?: number | null; tokens?: number | null; left_out?: number | null };
export type AgentPrompt = { prompt: string; user_id: string; user_part: string; updated_at: string | null; detail?: string | null };
export type AnswerFormat = { type: string; [name: string]: unknown };
export type Attempt = { stage: "run" | "deterministic" | "model" | "optimize" | "tidy"; repair?: string | null; model?: string | null; outcome: "ok" | "fixed" | "failed" | "timeout" | "killed" | "refused" | "unanswered"; error?: string | null; guard?: "no_program" | "unreadable" | "repeated" | "grows" | "loses_secrets" | "tests_changed" | "swallows" | "exits" | "drops_definitions" | "hollows" | "shrinks" | "deletes" | "drops_raise" | "drops_output" | "hard_codes" | "reaches_out" | "rebinds" | "unequal" | "not_faster" | null; tokens?: number | null; ms: number };
export type AuditEntry = { seq: number; at?: string | null; kind: "grant" | "check" | "log" | "revoke" | "erase" | "team" | "unreadable"; account?: string | null; key_id?: number | null; grant_id?: string | null; agent?: string | null; scope?: string | null; actions?: ("read" | "write" | "exec" | "delete")[] | null; ttl_minutes?: number | null; expires_at?: string | null; path?: string | null; action?: "read" | "write" | "exec" | "delete" | null; allowed?: boolean | null; check?: number | null; result?: string | null; receipt_id?: string | null; change?: "create" | "rename" | "delete" | "invite" | "withdraw" | "accept" | "role" | "remove" | "leave" | null; team_id?: string | null; member?: string | null; user_id?: string | null; role?: string | null; invitation_id?: string | null; prev?: string | null; hash: string };
export type AuditHead = { seq: number; hash: string };
export type AuditPage = { entries: AuditEntry[]; next: number | null; chain_valid: boolean; head: AuditHead };
export type Author = { account: string; user_id: string };
export type BatchReceipt = { event_id: string; user_id: string; detail?: string | null };
export type BatchTurn = { query: string; response: string; topic?: string | null; occurred_at?: string | null; source?: TurnSource | "user" | "model" | "tool" | "file" | "import" | "other" | null; metadata?: Record<string, unknown> | null; user_id?: string | null; session_id?: string | null; expires_at?: string | null };
export type BatchWritten = { saved: boolean; receipts: BatchReceipt[] };
export type Chat = { user_id: string; message: string; session_id?: string | null; step?: number | null; last_seal?: string | null; chat_history?: Earlier[] | null };
export type ChatAnswer = { reply: string; answer_mode: "model" | "extractive" | "fallback"; step: number; hits: Hit[]; refs: string[]; seal: string; usage: ModelUsage; event_id: string; history_used?: number | null; checks?: Check[] | null; shared_cubes?: SharedCube[] | null; duty_error?: string | null; reminders?: string[] | null; detail?: string | null };
export type Check = { check: "turn_saved" | "draft_not_empty" | "no_service_line" | "no_secret" | "event_id_cited" | "ref_exists" | "ref_shown" | "claim_marked" | "number_in_ref" | "date_in_ref" | "name_in_ref" | "url_in_ref" | "statement_in_ref" | "said_by_ref"; status: "pass" | "fail"; detail: string; claim?: string | null; start?: number | null; end?: number | null; ref?: string | null; checked?: boolean | null };
export type Choice = { index?: number; message: CompletionMessage; logprobs?: Record<string, unknown> | null; finish_reason: string };
export type Completed = { id: string; object?: "chat.completion"; created: number; model: string; choices: Choice[]; usage: CompletionUsage; detail?: string | null };
export type Completion = { messages: Spoken[]; model?: string | null; user?: string | null; session_id?: string | null; metadata?: Record<string, unknown> | null; stream?: boolean | null; stream_options?: StreamOptions | null; max_tokens?: number | null; max_completion_tokens?: number | null; temperature?: number | null; n?: number | null; stop?: string | string[] | null; tools?: Record<string, unknown>[] | null; tool_choice?: string | Record<string, unknown> | null; parallel_tool_calls?: boolean | null; response_format?: AnswerFormat | null; [name: string]: unknown };
export type CompletionMessage = { role?: "assistant"; content: string | null; tool_calls?: Record<string, unknown>[] | null; [name: string]: unknown };
export type CompletionUsage = { prompt_tokens: number; completion_tokens: number; total_tokens: number };
export type Compliance = { since: string; total: Figures; agents: AgentFigures[]; sessions: SessionFigures[]; sessions_left_out: number };
export type Confinement = { level: "gvisor" | "ns" | "landlock" | "unsafe"; limits: ExecutionLimits };
export type CreatedFile = { status?: "created"; filename: string; url: string; size_bytes: number; download_url: string; expires_at: string; detail?: string | null };
export type CubeCreate = { topic: string; essence: string; rules_markdown: string; evidence: string; session_id?: string | null; user_id?: string | null; visibility?: "private" | "account" | null; kind?: "moment" | "fact" | "culture" | "lifehack" | "warning" | "code" | null; cube_type?: "moment" | "fact" | "culture" | "lifehack" | "warning" | "code" | null; source?: "user" | "model" | "tool" | "file" | "import" | "other" | null; model?: string | null; improves?: string | null };
export type CubeCreated = { saved: boolean; cube_id: string; user_id: string; visibility: "private" | "account" | "published"; cube_status: "private" | "published" | "trusted" | "retired"; merged_into?: string | null; detail?: string | null };
export type CubeMade = { cube_id: string; visibility: "private" | "account" | "published"; merged_into?: string | null };
export type CubeVote = { cube_id: string; user_id: string; vote: 1 | -1; reason?: string | null; session_id?: string | null };
export type CubeVoted = { voted: boolean; cube_id: string; user_id: string; cube_status: "private" | "published" | "trusted" | "retired"; votes: Votes; detail?: string | null };
export type Dropped = { sentence: string; detail: string };
export type Earlier = { role: string; content: string };
export type Embed = { input: string | string[]; model?: string | null; encoding_format?: "float" | "base64" | null; dimensions?: number | null; input_type?: "query" | "document" | null };
export type Embedded = { object?: "list"; data: TextVector[]; model: string; usage: EmbeddingUsage };
export type Embedding = { name: string; pending: number; state?: "ok" | "pending" | "unavailable"; older?: string | null };
export type EmbeddingUsage = { prompt_tokens: number; total_tokens: number };
export type Erased = { events?: number; sessions?: number; summaries?: number; maps?: number; facts?: number; prompts?: number; files?: number; memory_files?: number; cubes?: number; feedback?: number };
export type Event = { event_id: string; session_id: string; topic: string | null; query: string; response: string; source: TurnSource; flags: string[]; occurred_at: string; created_at: string; metadata?: Record<string, unknown> | null; author?: Author | null; user_id: string; raw_dialogue: string; expires_at?: string | null; pinned?: boolean; withdrawn_by?: string | null; superseded_by?: string | null; supersedes?: string[] | null; may_supersede?: string[] | null; near_duplicate_of?: string | null; second_look?: LookRecord | null };
export type EventChange = { expires_at?: string | null; pinned?: boolean | null; withdrawn?: boolean | null; metadata?: Record<string, unknown> | null; clear?: "expires_at"[] | null; team?: string | null };
export type EventErased = { erased: boolean; event_id: string; facts: number; told_in: string[]; at: string; receipt?: SignedReceipt | null };
export type EventList = { user_id: string; events: ListedEvent[]; next: string | null };
export type EventWrite = { query: string; response: string; topic?: string | null; occurred_at?: string | null; source?: TurnSource | "user" | "model" | "tool" | "file" | "import" | "other" | null; metadata?: Record<string, unknown> | null; user_id: string; session_id?: string | null; expires_at?: string | null; team?: string | null };
export type EventWritten = { saved: boolean; event_id: string; detail?: string | null };
export type Executed = { status: "ok" | "fixed" | "failed" | "timeout" | "killed"; stdout: string; stderr: string; stdout_truncated: boolean; stderr_truncated: boolean; result: string | null; result_truncated: boolean; error: ExecutionError | null; code: string; mode: "fix" | "optimize" | "all"; fixed: boolean; diff: string | null; verified?: "runs" | "tests" | null; optimized?: Optimized | null; tidied?: boolean | null; note?: string | null; attempts: Attempt[]; files: ProgramFile[]; files_left_out: FileLeftOut[]; files_not_named: number; exit_code?: number | null; signal?: string | null; usage: RunUsage; sandbox: Confinement; duration_ms: number; event_id?: string | null };
export type Execution = { code: string; mode?: "fix" | "optimize" | "all" | null; language?: "python" | null; timeout_s?: number | null; strategy?: "cascade" | "race" | null; session_id?: string | null; user_id?: string | null };
export type ExecutionError = { type: string; message: string; line: number | null; traceback: string };
export type ExecutionLimits = { seconds: number; memory_bytes: number; disk_bytes: number; files: number; output_bytes: number; threads: number };
export type ExplainedHit = { event_id: string; session_id: string; topic: string | null; query: string; response: string; source: TurnSource; occurred_at: string; created_at: string; metadata?: Record<string, unknown> | null; project?: string | null; score: number; superseded_by?: string | null; supersedes?: string[] | null; may_supersede?: string[] | null; why: Signal[]; memory?: MemoryName | null; side: "query" | "response"; passage: number; passage_start: number; passage_end: number; bm25: number; coverage: number; cosine: number; features: Feature[]; adjustments: Adjustment[]; raw_score: number; marks: Mark[]; neighbours: Neighbour[] };
export type Explanation = { hits: ExplainedHit[]; total_hits: number; shared_cubes: SharedCube[]; facts?: FactHit[]; instructions?: InstructionHit[]; summaries?: SummaryHit[]; focus_missing?: string[] | null; help_hits?: Help[] | null; start_score: number; words: QuestionWord[]; vector_text: string; answerable?: number; looked: Looked; left_out: LeftOut[]; stages: Stage[] };
export type Fact = { fact_id: string; text: string | null; source: "user" | "model" | "tool" | "file" | "import" | "other"; status: "current" | "superseded" | "expired" | "removed"; kind: "fact" | "instruction" | "preference"; condition: string | null; recognised: boolean; valid_from: string; valid_to: string | null; expires_at: string | null; superseded_by: string | null; supersedes: string[]; versions: FactVersion[]; pinned: boolean; event_id: string | null; event_ids: string[]; written_by: string | null; created_at: string; metadata?: Record<string, unknown> | null; author?: Author | null };
export type FactAdd = { user_id?: string | null; session_id?: string | null; text: string; source?: "user" | "model" | "tool" | "file" | "import" | "other" | null; valid_from?: string | null; valid_to?: string | null; expires_at?: string | null; pinned?: boolean | null; metadata?: Record<string, unknown> | null; replaces?: string | null; team?: string | null };
export type FactChange = { text?: string | null; valid_from?: string | null; valid_to?: string | null; expires_at?: string | null; pinned?: boolean | null; metadata?: Record<string, unknown> | null; status?: "current" | null; clear?: ("valid_to" | "expires_at")[] | null; team?: string | null };
export type FactHit = { fact_id: string; text: string; source: "user" | "model" | "tool" | "file" | "import" | "other"; status: "current" | "superseded"; valid_from: string; valid_to?: string | null; superseded_by?: string | null; event_id: string | null; metadata?: Record<string, unknown> | null; score: number; memory?: MemoryName | null };
export type FactList = { user_id: string; facts: Fact[]; next: number | null };
export type FactRemoved = { removed: boolean; fact_id: string; user_id: string; at: string };
export type FactStored = { saved: boolean; user_id: string; outcome: "stored" | "known" | "changed"; fact: Fact; may_supersede: string[]; detail?: string | null };
export type FactVersion = { text: string; valid_from: string; valid_to: string | null };
export type Fault = { pointer: string; detail: string };
export type Feature = { feature: string; signal: string; value: number; rank: number; adds: number };
export type Feedback = { type: "anomaly" | "bug" | "cube_issue" | "improvement" | "security"; title: string; description: string; severity?: number | null };
export type FeedbackGiven = { feedback_id: string; account: string; type: "anomaly" | "bug" | "cube_issue" | "improvement" | "security"; title: string; description: string; severity: number | null; created_at: string; closed_at: string | null; note: string | null };
export type FeedbackList = { feedback: FeedbackGiven[]; next: string | null };
export type FeedbackSaved = { saved: boolean; feedback_id: string; detail?: string | null };
export type Figures = { searches: number; turns?: number | null; looks: number; searched?: Part | null; remembered: Part; sealed: Part; rated: Part; looked?: Part | null; passed: Part };
export type FileCommand = { command: "view" | "create" | "str_replace" | "insert" | "delete" | "rename"; path?: string | null; view_range?: number[] | null; file_text?: string | null; old_str?: string | null; new_str?: string | null; insert_line?: number | null; insert_text?: string | null; old_path?: string | null; new_path?: string | null; user_id?: string | null };
export type FileCreate = { filename: string; content: string; type: "html" | "txt" | "json" | "csv" | "md" | "svg" | "pdf" | "png" | "zip" | "py" | "css" | "js" };
export type FileDone = { text: string; is_error: boolean; path?: string | null; version?: number | null; flags: string[]; noticed?: string | null };
export type FileErased = { erased: boolean; filename: string; size_bytes: number };
export type FileHistory = { user_id: string; path: string; version?: number | null; text?: string | null; versions: FileVersion[]; next: number | null };
export type FileLeftOut = { name: string; why: string };
export type FileVersion = { path: string; version: number; change: "create" | "str_replace" | "insert" | "delete" | "rename"; other_path?: string | null; is_gone: boolean; bytes: number; flags: string[]; created_at: string };
export type Forget = { user_id?: string | null; session_id?: string | null; after?: string | null; before?: string | null; filters?: Record<string, unknown> | null; path?: string | null; account?: boolean | null; confirm?: string | null; dry_run?: boolean | null; team?: string | null };
export type Forgotten = { erased: boolean; counts: Erased; at: string; receipt?: SignedReceipt | null };
export type GrantList = { grants: LiveGrant[]; next: string | null };
export type GrantRequest = { scope: string; ttl_minutes: number; actions: ("read" | "write" | "exec" | "delete")[]; agent: string };
export type GrantRevocation = { grant_id: string };
export type GrantRevoked = { revoked: boolean };
export type Granted = { grant_id: string; scope: string; actions: ("read" | "write" | "exec" | "delete")[]; agent: string; expires_at: string; note: string };
export type Help = { title: string; text: string };
export type Hit = { event_id: string; session_id: string; topic: string | null; query: string; response: string; source: TurnSource; occurred_at: string; created_at: string; metadata?: Record<string, unknown> | null; project?: string | null; score: number; superseded_by?: string | null; supersedes?: string[] | null; may_supersede?: string[] | null; why: Signal[]; memory?: MemoryName | null };
export type ImportFact = { text: string; id?: string | null; user_id?: string | null; valid_from?: string | null; valid_to?: string | null; metadata?: Record<string, unknown> | null };
export type ImportTurn = { query: string; response: string; topic?: string | null; occurred_at?: string | null; source?: TurnSource | "user" | "model" | "tool" | "file" | "import" | "other" | null; metadata?: Record<string, unknown> | null; id?: string | null; is_unique?: boolean | null; user_id?: string | null; session_id?: string | null };
export type InstructionHit = { instruction_id: string; text: string; source: "user" | "model" | "tool" | "file" | "import" | "other"; kind?: "instruction" | "preference"; condition: string | null; valid_from: string; event_id: string | null; metadata?: Record<string, unknown> | null; memory?: MemoryName | null };
export type InstructionList = { user_id: string; instructions: Fact[]; next: number | null };
export type InvitationAccept = { token: string; user_id?: string | null };
export type InvitationCreate = { role?: "reader" | "writer" | "owner" | null; expires_in_hours?: number | null };
export type InvitationCreated = { invitation_id: string; role: "reader" | "writer" | "owner"; invited_by: string; created_at: string; expires_at: string; token: string };
export type InvitationList = { invitations: TeamInvitation[] };
export type L2Source = { map_text?: string | null; summaries: UnmappedL1[]; left_out: number };
export type LeftOut = { event_id: string; query: string; response: string; raw_score: number; coverage: number; cosine: number; reason: "top_k" | "max_tokens" | "minimum" };
export type ListedEvent = { event_id: string; session_id: string; topic: string | null; query: string; response: string; source: TurnSource; flags: string[]; occurred_at: string; created_at: string; metadata?: Record<string, unknown> | null; author?: Author | null };
export type ListedSession = { session_id: string; turns: number; summaries: number; steps: number; topic: string | null; query: string; task_open: boolean; created_at: string; last_turn_at: string };
export type LiveGrant = { grant_id: string; scope: string; actions: ("read" | "write" | "exec" | "delete")[]; agent: string; key_id: number; granted_at: string; expires_at: string; seconds_left: number };
export type LookRecord = { status: "pass" | "fail"; passed: number; failed: number; looked_at: string };
export type Looked = { events: number; passages: number; in_time: number; ranked: number; matches: number };
export type MapRequest = { user_id: string; session_count?: number | null; team?: string | null };
export type MapUpdated = { updated: boolean; map_text: string; l1_count: number; version: number; made_by?: "headlines" | "model" | null; dropped?: Dropped[] | null; usage?: ModelUsage | null; detail?: string | null };
export type MapVersion = { user_id: string; map_text: string; version: number; versions: number; l1_count: number; made_by: string; source: "user" | "model" | "tool" | "file" | "import" | "other"; created_at: string };
export type Mark = { side: "query" | "response"; start: number; end: number };
export type MediaPart = { type: "image_url" | "input_audio" | "file" | "video_url" | "refusal"; [name: string]: unknown };
export type MemoryAnswer = { hits: Hit[]; shared_cubes: SharedCube[]; facts?: FactHit[]; instructions?: InstructionHit[]; summaries?: SummaryHit[]; step: number; answerable?: number; total_hits: number; depth?: "fast" | "deep" | null; focus_missing?: string[] | null; duty_error?: string | null; reminders?: string[] | null; l2_source?: L2Source | null; help_hits?: Help[] | null; open_tasks?: OpenTask[] | null };
export type MemoryName = { team_id: string | null; team: string | null; author?: Author | null };
export type MemoryQuery = { query_text: string; user_id: string; focus_words?: string[] | null; top_k?: number | null; work?: WorkContext | null; session_id?: string | null; interact?: boolean | null; last_seal?: string | null; seals?: boolean | null; after?: string | null; before?: string | null; filters?: Record<string, unknown> | null; min_trust?: "user" | "model" | "tool" | "file" | "import" | "other" | null; project?: string | null; as_of?: string | null; layers?: ("events" | "facts" | "instructions" | "summaries")[] | null; min_score?: number | null; min_answerable?: number | null; depth?: "fast" | "deep" | null; max_tokens?: number | null; team?: string | null; teams?: string[] | "all" | null };
export type ModelTry = { model: string; outcome: string; ms: number; prompt_tokens: number; completion_tokens: number };
export type ModelUsage = { calls: number; prompt_tokens: number; completion_tokens: number; ms: number; tries: ModelTry[] };
export type Neighbour = { event_id: string; place: "before" | "after"; query: string; response: string; base: number };
export type OpenAIError = { message: string; type: string; param: string | null; code: string };
export type OpenAIErrorBody = { error: OpenAIError };
export type OpenTask = { task_id: string; session_id: string; query: string; opened_at: string };
export type Optimized = { cpu_ms_before: number; cpu_ms_after: number; pairs: number; pairs_won: number };
export type OwnKey = { account: string; user_id: string; pinned: boolean; read_only: boolean; protocol: boolean; is_owner: boolean; expires_at?: string | null };
export type Part = { done: number; of: number; share: number | null };
export type PermissionCheck = { path: string; action: "read" | "write" | "exec" | "delete"; agent: string };
export type PermissionChecked = { allowed: boolean; grant_id?: string | null; expires_at?: string | null; path: string; reason: string };
export type ProblemBody = { type: string; title: string; status: number; detail: string; instance: string; error: "malformed_request" | "invalid_json" | "unauthorized" | "forbidden" | "not_found" | "method_not_allowed" | "too_slow" | "conflict" | "too_large" | "unsupported_media_type" | "range_not_satisfiable" | "misdirected_request" | "invalid_request" | "too_many_requests" | "too_many_headers" | "internal" | "unavailable"; errors?: Fault[] };
export type ProgramFile = { status?: "created"; filename: string; url: string; size_bytes: number; download_url: string; expires_at: string; detail?: string | null; name: string };
export type PromptWrite = { prompt: string; user_id?: string | null };
export type QuestionWord = { word: string; role: "meaning" | "frequent" | "stop"; passages: number };
export type Readiness = { ready: boolean; store: string; embedder: string; files?: string; embedding?: Embedding | null };
export type Receipt = { part: "turn" | "replaces" | "l1_summary" | "l2_map" | "critical" | "cube" | "task_done" | "duty"; outcome: "stored" | "known" | "skipped" | "erased"; id?: string | null; detail?: string | null };
export type ReceiptKey = { kty?: "OKP"; crv?: "Ed25519"; kid: string; x: string; retired_at?: string | null };
export type ReceiptKeys = { keys: ReceiptKey[] };
export type RecordImport = { turns?: ImportTurn[] | null; facts?: ImportFact[] | null };
export type RecordsImported = { saved: boolean; stored: number; facts: number; present: number };
export type Remembered = { saved: boolean; event_id?: string | null; user_id: string; step: number; cube: CubeMade | string; l1_due: boolean; l2_due: boolean; receipts: Receipt[]; reminders?: string[] | null };
export type ResponseObject = { id: string; object?: "response"; created_at: number; status: "in_progress" | "completed" | "incomplete"; model: string; output: Record<string, unknown>[]; usage?: ResponseUsage | null; [name: string]: unknown };
export type ResponseRequest = { input: string | Record<string, unknown>[]; instructions?: string | null; model?: string | null; user?: string | null; session_id?: string | null; metadata?: Record<string, unknown> | null; stream?: boolean | null; max_output_tokens?: number | null; temperature?: number | null; top_p?: number | null; text?: TextFormat | null; tools?: Record<string, unknown>[] | null; tool_choice?: string | Record<string, unknown> | null; parallel_tool_calls?: boolean | null; previous_response_id?: string | null; [name: string]: unknown };
export type ResponseUsage = { input_tokens: number; output_tokens: number; total_tokens: number; [name: string]: unknown };
export type Retention = { rules: RetentionRule[]; sweeps: Sweep[] };
export type RetentionRule = { user_id: string | null; days: number | null; events: number | null; set_by: "account" | "server" };
export type RetentionSet = { user_id?: string | null; days?: number | null; events?: number | null; team?: string | null };
export type RunUsage = { wall_ms: number; cpu_ms: number; max_rss_kb: number };
export type SecondLook = { draft: string; event_id?: string | null; span?: number | null };
export type SecondLooked = { status: "pass" | "fail"; checks: Check[]; failed: number; passed: number; not_checked?: number; event_id?: string | null; session_id?: string | null; user_id?: string | null; judge?: string | null; usage?: ModelUsage | null };
export type ServedModel = { id: string; object?: "model"; created?: number; owned_by?: string };
export type ServedModels = { object?: "list"; data: ServedModel[] };
export type SessionFigures = { user_id: string; session_id: string; last_at: string; figures: Figures };
export type SessionList = { user_id: string; sessions: ListedSession[]; next: string | null };
export type SharedCube = { cube_id: string; kind: "moment" | "fact" | "culture" | "lifehack" | "warning" | "code"; topic: string; essence: string; rules_markdown: string; evidence: string; source: "user" | "model" | "tool" | "file" | "import" | "other"; score: number; note: string; why?: string | null; record?: string | null; model?: string | null };
export type Signal = { signal: string; rank?: number | null; value: number };
export type SignedReceipt = { statement: string; key_id: string; signature: string };
export type Spoken = { role: "system" | "developer" | "user" | "assistant" | "tool" | "function"; content?: string | (TextPart | MediaPart)[] | null; tool_calls?: Record<string, unknown>[] | null; tool_call_id?: string | null; [name: string]: unknown };
export type Stage = { stage: string; ms: number };
export type StartPack = { prompt_text: string; user_id: string; constitution_version: number; tokens: number; left_out: number; parts?: StartParts | null };
export type StartParts = { map: string; instructions: string[]; facts: string[]; summaries: string[]; cubes: string[]; last_session?: string | null; names?: string | null; decisions?: string[] | null };
export type StatusRecord = { do_this: string[]; service: string; version: string; status: "ok" | "degraded"; cubes_count: number; connections: number; graph_loaded: boolean; cache_enabled: boolean; interface_version: string; server_version: string; embedding?: Embedding | null; sandbox?: "gvisor" | "ns" | "landlock" | "unsafe" | "unavailable" | "not started" };
export type StreamOptions = { include_usage?: boolean | null };
export type Summary = { user_id: string; session_id: string; summary_text: string; topic?: string | null; message_count?: number | null; team?: string | null };
export type SummaryAsked = { user_id: string; session_id: string; team?: string | null };
export type SummaryDraft = { summary_text: string; made_by: "headlines" | "model"; ratio: number; turns: number; dropped: Dropped[]; usage: ModelUsage; warning?: string | null; detail?: string | null };
export type SummaryHit = { l1_id: string | null; map_version?: number | null; session_id: string | null; topic: string | null; text: string; source: "user" | "model" | "tool" | "file" | "import" | "other"; score: number; memory?: MemoryName | null };
export type SummarySaved = { saved: boolean; l1_id: string; l2_due: boolean; ratio: number; warning?: string | null };
export type Sweep = { user_id: string | null; reason: "expired" | "days" | "events"; events: number; facts: number; summaries: number; cubes: number; at: string };
export type Team = { team_id: string; name: string; role: "reader" | "writer" | "owner"; members: number; created_at: string };
export type TeamAudit = { entries: AuditEntry[]; next: number | null };
export type TeamChange = { name: string };
export type TeamCreate = { name: string; user_id?: string | null };
export type TeamDeleted = { deleted: boolean; team_id: string; counts: Erased; receipt?: SignedReceipt | null };
export type TeamInvitation = { invitation_id: string; role: "reader" | "writer" | "owner"; invited_by: string; created_at: string; expires_at: string };
export type TeamList = { teams: Team[] };
export type TeamMemberChange = { member_id: string; role: "reader" | "writer" | "owner" };
export type TeamMemberRow = { member_id: string; account: string; user_id: string | null; role: "reader" | "writer" | "owner"; joined_at: string; is_self: boolean };
export type TeamMembers = { members: TeamMemberRow[] };
export type TextFormat = { format?: Record<string, unknown> | null };
export type TextPart = { type: "text"; text: string; [name: string]: unknown };
export type TextVector = { object?: "embedding"; index: number; embedding: number[] | string };
export type ToolsListed = { format: string; tools: Record<string, unknown>[] };
export type Turn = { query?: string | null; response?: string | null; topic?: string | null; occurred_at?: string | null; source?: TurnSource | "user" | "model" | "tool" | "file" | "import" | "other" | null; metadata?: Record<string, unknown> | null; expires_at?: string | null; user_id?: string | null; session_id?: string | null; l1_summary?: string | null; l2_map?: string | null; critical?: string | null; critical_replaces?: string | null; replaces?: string | null; task_done?: boolean | null; task_id?: string | null; cube_topic?: string | null; cube_essence?: string | null; cube_rules?: string | null; cube_type?: "moment" | "fact" | "culture" | "lifehack" | "warning" | "code" | null; kind?: "moment" | "fact" | "culture" | "lifehack" | "warning" | "code" | null; cube_evidence?: string | null; cube_expires_at?: string | null; cube_improves?: string | null; cube_publish?: boolean | null; cube_visibility?: "private" | "account" | null; model?: string | null; duty?: "cube_nothing" | "vote_nothing" | null; duty_reason?: string | null; team?: string | null };
export type TurnBatch = { turns: BatchTurn[]; user_id?: string | null; session_id?: string | null; team?: string | null };
export type TurnSource = { query: "user" | "model" | "tool" | "file" | "import" | "other"; response: "user" | "model" | "tool" | "file" | "import" | "other" };
export type UnmappedL1 = { l1_id: string; session_id: string; text: string };
export type UserList = { users: string[]; next: string | null };
export type Votes = { useful: number; useless: number };
export type WorkContext = { tools?: string[] | null; error?: string | null; files?: string[] | null };
/** Every endpoint: method and path. */
export interface Endpoints {
  /** Search memory */
  "POST /api/v7/memory": { body: MemoryQuery; answer: MemoryAnswer };
  /** Explain a search */
  "POST /api/v7/memory/explain": { body: MemoryQuery; answer: Explanation };
  /** Remember a turn */
  "POST /api/v7/remember": { body: Turn; answer: Remembered };
  /** Save an event */
  "POST /api/v7/event/write": { body: EventWrite; answer: EventWritten };
  /** Save a batch of turns */
  "POST /api/v7/memory/batch": { body: TurnBatch; answer: BatchWritten };
  /** Import turns and facts */
  "POST /api/v7/memory/import": { body: RecordImport; answer: RecordsImported };
  /** Get event detail */
  "GET /api/v7/event/{event_id}": { path: { event_id: string }; query?: { team?: string }; answer: Event };
  /** Change an event */
  "PATCH /api/v7/event/{event_id}": { path: { event_id: string }; body: EventChange; answer: Event };
  /** Erase an event */
  "DELETE /api/v7/event/{event_id}": { path: { event_id: string }; query?: { team?: string }; answer: EventErased };
  /** List events */
  "GET /api/v7/events": { query?: { user_id?: string; session_id?: string; after?: string; before?: string; filters?: Record<string, unknown>; order?: "newest" | "oldest"; limit?: number; cursor?: string; team?: string }; answer: EventList };
  /** List users */
  "GET /api/v7/users": { query?: { limit?: number; cursor?: string }; answer: UserList };
  /** List sessions */
  "GET /api/v7/sessions": { query?: { user_id?: string; limit?: number; cursor?: string; team?: string }; answer: SessionList };
  /** Read retention rules */
  "GET /api/v7/memory/retention": { query?: { user_id?: string; team?: string }; answer: Retention };
  /** Set a retention rule */
  "PUT /api/v7/memory/retention": { body: RetentionSet; answer: Retention };
  /** Forget */
  "POST /api/v7/memory/forget": { body: Forget; answer: Forgotten };
  /** Keys of receipts */
  "GET /api/v7/receipts/keys": { answer: ReceiptKeys };
  /** Use memory files */
  "POST /api/v7/memory/files": { body: FileCommand; answer: FileDone };
  /** Read versions of memory files */
  "GET /api/v7/memory/files": { query?: { path?: string; version?: number; below?: number; user_id?: string }; answer: FileHistory };
  /** Draft an L1 summary */
  "POST /api/v7/memory/summarize/draft": { body: SummaryAsked; answer: SummaryDraft };
  /** Save an L1 summary */
  "POST /api/v7/memory/summarize": { body: Summary; answer: SummarySaved };
  /** Update the L2 map */
  "POST /api/v7/memory/map": { body: MapRequest; answer: MapUpdated };
  /** Read the L2 map */
  "GET /api/v7/memory/map": { query?: { user_id?: string; version?: number; as_of?: string; team?: string }; answer: MapVersion };
  /** Get the start pack */
  "GET /api/v7/memory/start": { query?: { session_id?: string; format?: "text" | "json"; user_id?: string; as_of?: string; client?: "http" | "mcp" | "hooks"; project?: string; team?: string }; answer: StartPack };
  /** Memory in one call */
  "GET /api/v7/agent/memory": { query?: { query?: string; user_id?: string; top_k?: number; team?: string }; answer: AgentMemory };
  /** List facts */
  "GET /api/v7/memory/facts": { query?: { user_id?: string; session_id?: string; status?: "current" | "superseded" | "expired" | "removed" | "all"; which?: "facts" | "instructions" | "all"; as_of?: string; filters?: Record<string, unknown>; limit?: number; below?: number; team?: string }; answer: FactList };
  /** Add a fact */
  "POST /api/v7/memory/facts": { body: FactAdd; answer: FactStored };
  /** List instructions */
  "GET /api/v7/memory/instructions": { query?: { user_id?: string; session_id?: string; status?: "current" | "superseded" | "expired" | "removed" | "all"; which?: "facts" | "instructions" | "all"; as_of?: string; filters?: Record<string, unknown>; limit?: number; below?: number; team?: string }; answer: InstructionList };
  /** Add an instruction */
  "POST /api/v7/memory/instructions": { body: FactAdd; answer: FactStored };
  /** Change an instruction */
  "PATCH /api/v7/memory/instructions/{instruction_id}": { path: { instruction_id: string }; body: FactChange; answer: FactStored };
  /** Delete an instruction */
  "DELETE /api/v7/memory/instructions/{instruction_id}": { path: { instruction_id: string }; query?: { team?: string }; answer: FactRemoved };
  /** Change a fact */
  "PATCH /api/v7/memory/facts/{fact_id}": { path: { fact_id: string }; body: FactChange; answer: FactStored };
  /** Delete a fact */
  "DELETE /api/v7/memory/facts/{fact_id}": { path: { fact_id: string }; query?: { team?: string }; answer: FactRemoved };
  /** List teams */
  "GET /api/v7/teams": { answer: TeamList };
  /** Create a team */
  "POST /api/v7/teams": { body: TeamCreate; answer: Team };
  /** Accept an invitation */
  "POST /api/v7/teams/accept": { body: InvitationAccept; answer: Team };
  /** Show a team */
  "GET /api/v7/teams/{team_id}": { path: { team_id: string }; answer: Team };
  /** Rename a team */
  "PATCH /api/v7/teams/{team_id}": { path: { team_id: string }; body: TeamChange; answer: Team };
  /** Delete a team */
  "DELETE /api/v7/teams/{team_id}": { path: { team_id: string }; query?: { confirm?: string }; answer: TeamDeleted };
  /** List members */
  "GET /api/v7/teams/{team_id}/members": { path: { team_id: string }; answer: TeamMembers };
  /** Change a member's role */
  "PATCH /api/v7/teams/{team_id}/members": { path: { team_id: string }; body: TeamMemberChange; answer: TeamMembers };
  /** Remove a member, or leave */
  "DELETE /api/v7/teams/{team_id}/members": { path: { team_id: string }; query?: { member_id?: string }; answer: TeamMembers };
  /** List invitations */
  "GET /api/v7/teams/{team_id}/invitations": { path: { team_id: string }; answer: InvitationList };
  /** Invite a member */
  "POST /api/v7/teams/{team_id}/invitations": { path: { team_id: string }; body: InvitationCreate; answer: InvitationCreated };
  /** Withdraw an invitation */
  "DELETE /api/v7/teams/{team_id}/invitations": { path: { team_id: string }; query: { invitation_id: string }; answer: InvitationList };
  /** Audit entries of a team */
  "GET /api/v7/teams/{team_id}/audit": { path: { team_id: string }; query?: { limit?: number; before?: number }; answer: TeamAudit };
  /** Second look */
  "POST /api/v7/agent/second-look": { body: SecondLook; answer: SecondLooked };
  /** Compliance */
  "GET /api/v7/agent/compliance": { query?: { days?: number; user_id?: string; session_id?: string; all?: boolean }; answer: Compliance };
  /** Chat with the service agent */
  "POST /api/v7/agent/chat": { body: Chat; answer: ChatAnswer };
  /** Chat completions */
  "POST /v1/chat/completions": { body: Completion; answer: Completed };
  /** Responses */
  "POST /v1/responses": { body: ResponseRequest; answer: ResponseObject };
  /** Embeddings */
  "POST /v1/embeddings": { body: Embed; answer: Embedded };
  /** List models */
  "GET /v1/models": { answer: ServedModels };
  /** Show a model */
  "GET /v1/models/{model}": { path: { model: string }; answer: ServedModel };
  /** Get the agent prompt */
  "GET /api/v7/agent/prompt": { query: { user_id: string; client?: "http" | "mcp" | "hooks" }; answer: AgentPrompt };
  /** Set the agent prompt */
  "PUT /api/v7/agent/prompt": { body: PromptWrite; answer: AgentPrompt };
  /** Submit feedback */
  "POST /api/v7/feedback": { body: Feedback; answer: FeedbackSaved };
  /** Read feedback */
  "GET /api/v7/feedback": { query?: { limit?: number; before?: string; type?: "anomaly" | "bug" | "cube_issue" | "improvement" | "security"; state?: "open" | "closed" | "all" }; answer: FeedbackList };
  /** Save an experience cube */
  "POST /api/v7/experience/create": { body: CubeCreate; answer: CubeCreated };
  /** Vote on a cube */
  "POST /api/v7/experience/vote": { body: CubeVote; answer: CubeVoted };
  /** Run code in the sandbox */
  "POST /api/execute/code": { body: Execution; answer: Executed };
  /** Create a file */
  "POST /api/v7/tools/create-file": { body: FileCreate; answer: CreatedFile };
  /** Download a file */
  "GET /download/{filename}": { path: { filename: string }; query?: { exp?: number; sig?: string }; answer: string };
  /** Erase a file */
  "DELETE /download/{filename}": { path: { filename: string }; answer: FileErased };
  /** Check a permission */
  "POST /api/v7/sysperm/check": { body: PermissionCheck; answer: PermissionChecked };
  /** Grant a permission */
  "POST /api/v7/sysperm/grant": { body: GrantRequest; answer: Granted };
  /** List grants in force */
  "GET /api/v7/sysperm/grants": { query?: { limit?: number; before?: string }; answer: GrantList };
  /** Log a permitted action */
  "POST /api/v7/sysperm/log": { body: ActionLog; answer: ActionLogged };
  /** Revoke a permission */
  "POST /api/v7/sysperm/revoke": { body: GrantRevocation; answer: GrantRevoked };
  /** Read the audit trail */
  "GET /api/v7/sysperm/audit": { query?: { limit?: number; after?: number }; answer: AuditPage };
  /** Tools for agents */
  "GET /api/v7/tools": { query?: { format?: "openai" | "anthropic" | "mcp" }; answer: ToolsListed };
  /** This key */
  "GET /api/v7/key": { query?: { session_id?: string }; answer: OwnKey };
  /** Status record */
  "GET /api/v7/status": { answer: StatusRecord };
  /** Ready */
  "GET /readyz": { answer: Readiness };
  /** Home */
  "GET /": { answer: StatusRecord };
  /** Alive */
  "GET /healthz": { answer: Record<string, unknown> };
  /** Metrics */
  "GET /metrics": { answer: string };
  /** OpenAPI */
  "GET /openapi.json": { answer: Record<string, unknown> };
  /** For language models */
  "GET /llms.txt": { answer: string };
  /** Style sheet */
  "GET /docs/style.css": { answer: string };
  /** Documentation */
  "GET /docs": { answer: string };
  /** Page of the documentation */
  "GET /docs/{page}": { path: { page: string }; answer: string };
  /** Run code in the sandbox */
  "POST /api/v7/execute/code": { body: Execution; answer: Executed };
}
