-- The schema of release 1.0.0. Tables are grouped by the package that owns their rows.
-- Times are milliseconds since 1970 in UTC (`…_ms`). Flags are 0 or 1. `account_id` names the account of a row: every query states it.

-- == store: shared by all packages ==

create table embedders (
    id integer primary key,
    name text not null unique         -- name and version, such as multilingual/0.2.1
);

create table secrets (                -- keys to sign with, equal on all servers of the store
    name text primary key,
    secret blob not null,
    created_ms integer not null
) without rowid;

-- == accounts: accounts, keys, sign-in, rate limits, teams ==

create table accounts (
    id integer primary key,
    name text not null unique,
    role text not null check (role in ('owner', 'member')),
    created_ms integer not null,
    outside_models integer not null default 1  -- 1: its text may be sent to language models on other machines
);

create table keys (
    id integer primary key,
    account_id integer not null references accounts (id),
    digest blob not null unique,      -- SHA-256 of the whole key; the key itself is not stored
    hint text not null,               -- first 8 hex characters: people tell keys apart by them
    label text not null,
    user_id text,                     -- the pin; null: every user_id of the account
    read_only integer not null,
    created_ms integer not null,
    expires_ms integer,
    revoked_ms integer,
    last_used_ms integer,
    protocol integer not null default 1  -- 0: every request is a plain read or write and owes no duties
);

create table session_users (          -- the user_id that a key last named with a session: requests without one use it
    account_id integer not null,
    key_id integer not null,
    session_id text not null,
    user_id text not null,
    named_ms integer not null,
    other_user_id text,               -- the user_id before, if the key named another one
    other_ms integer,
    primary key (key_id, session_id)
) without rowid;
create index session_users_account on session_users (account_id, user_id);

create table answers (                -- first answers to writes with an Idempotency-Key
    key_id integer not null references keys (id),
    path text not null,
    idempotency_key text not null,
    body_digest blob not null,
    answer text not null,
    created_ms integer not null,
    account_id integer not null default 0,  -- for a request in a team: the team
    primary key (key_id, path, idempotency_key)
);
create index answers_created on answers (key_id, created_ms);  -- old ones are removed when a key adds one
create index answers_account on answers (account_id);

create table passwords (
    account_id integer primary key references accounts (id),
    hash text not null,               -- argon2id, with its salt and costs
    changed_ms integer not null
);

create table browser_sessions (
    digest blob primary key,          -- SHA-256 of the cookie's value; the value itself is not stored
    account_id integer not null references accounts (id),
    created_ms integer not null,
    used_ms integer not null,
    browser text not null default '', -- such as: Firefox on Linux
    confirmed_ms integer              -- last entry of the password; null: not in this session
) without rowid;
create index browser_sessions_account on browser_sessions (account_id);

create table invitations (            -- links that set the password of an account, each once
    digest blob primary key,
    account_id integer not null references accounts (id),
    expires_ms integer not null
) without rowid;

create table sign_in_failures (       -- by name, whether such an account exists or not
    digest blob primary key,          -- SHA-256 of the name
    failures integer not null,        -- in a row
    last_ms integer not null
) without rowid;

create table rates (                  -- when a caller has its full allowance again, if several servers share the store
    kind text not null,
    who text not null,
    free_us integer not null,
    primary key (kind, who)
) without rowid;

create table usage (                  -- requests per day; may lack the last minute before a crash
    day integer not null,             -- days since 1970, UTC
    account_id integer not null,      -- 0: the service, for requests of no known account
    key_id integer not null,          -- 0: a signed-in browser, or the machine itself
    kind text not null,
    count integer not null,
    primary key (day, account_id, key_id, kind)
) without rowid;

create table teams (                  -- a team is an account without keys; its members' accounts work in its one space
    account_id integer primary key references accounts (id),
    team_id text not null unique,     -- also the account's name, and the user_id of its space
    name text not null,               -- '' once it is deleted
    created_ms integer not null,
    deleted_ms integer
);

create table team_members (
    account_id integer not null references teams (account_id),
    member_account integer not null references accounts (id),
    user_id text not null,            -- the one user of that account; '': all of its users
    member_id text not null,
    role text not null check (role in ('reader', 'writer', 'owner')),
    joined_ms integer not null,
    primary key (account_id, member_account, user_id)
);
create index team_members_account on team_members (member_account);
create unique index team_members_member_id on team_members (account_id, member_id);

create table team_invitations (
    account_id integer not null references teams (account_id),
    invitation_id text not null,
    digest blob not null,             -- SHA-256 of the token
    role text not null check (role in ('reader', 'writer', 'owner')),
    invited_by text not null,         -- name of an account
    created_ms integer not null,
    expires_ms integer not null,
    primary key (account_id, invitation_id)
);
create unique index team_invitations_digest on team_invitations (digest);

create table team_audit (             -- entries of the audit trail that are about a team
    account_id integer not null references teams (account_id),
    seq integer not null,             -- audit.seq
    primary key (account_id, seq)
);

-- == memory: spaces, sessions, turns ==

create table spaces (
    id integer primary key,
    account_id integer not null references accounts (id),
    user_id text not null,
    events_made integer not null default 0,   -- numbers the events of the space; only grows
    revision integer not null default 0,      -- grows when stored events were erased or embedded again
    created_ms integer not null,
    l1_count integer not null default 0,      -- L1 summaries of its sessions
    l1_mapped integer not null default 0,     -- of these, in its newest map
    file_bytes integer not null default 0,    -- charged for all versions of its memory files
    file_changes integer not null default 0,  -- grows with each change of them, and when some are forgotten
    layers_made integer not null default 0,   -- numbers the entries of layer_index; only grows
    unique (account_id, user_id)
);

create table sessions (
    id integer primary key,
    space_id integer not null references spaces (id),
    session_id text not null,
    step integer not null default 0,
    created_ms integer not null,
    turns integer not null default 0,
    turns_summarised integer not null default 0,    -- of these, in its L1s
    remembered_step integer not null default 0,     -- its step when a turn was last remembered
    cube_turn integer,                              -- its turns when its last cube was made
    task_open integer not null default 0,           -- 1: its latest remembered turn opened a task
    last_turn_ms integer,
    account_id integer not null default 0,
    turns_without_l1 integer not null default 0,    -- turns of `remember` since its last L1
    turns_without_cube integer not null default 0,  -- those after a counted search since its last cube or cube_nothing
    unique (space_id, session_id)
);
create index sessions_open on sessions (space_id, last_turn_ms) where task_open = 1;
create index sessions_latest on sessions (space_id, coalesce(last_turn_ms, created_ms), id);

create table events (
    id integer primary key,           -- space id << 32 | number within the space: one space is one range
    event_id text not null unique,
    session integer not null references sessions (id),
    topic text,
    query text not null,
    response text not null,
    occurred_ms integer not null,
    created_ms integer not null,
    flags text not null default '',   -- findings in its text, as words with commas between
    -- The length of the response and its beginning, without white space at its end: finds a turn by its response.
    reply text generated always as (
        length(rtrim(response, char(
            9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233,
            8239, 8287, 12288)))
        || ' ' || substr(rtrim(response, char(
            9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233,
            8239, 8287, 12288)), 1, 40)
    ) virtual,
    account_id integer not null default 0,
    step integer,                     -- of its session when it was remembered; null: written by another way
    superseded_by integer,            -- id of the revision of this draft; a superseded event has no index entry
    occurred_offset integer not null default 0,  -- of `occurred_at`, minutes east of UTC: relative dates are read there
    expires_ms integer,               -- it is erased then
    pinned integer not null default 0,  -- 1: retention keeps it
    withdrawn_by integer,             -- id of the turn in which the user took it back; searches do not find it
    twin integer,                     -- digest of the normalised turn; null: not known
    repeats integer,                  -- id of the first event with the same twin; null: none
    author_account integer,           -- in a team: the account that wrote it
    author_user text                  -- and its user
);
create index events_session on events (session, created_ms);
create index events_reply on events (reply);
create index events_occurred on events (id >> 32, occurred_ms, id);     -- a space by time
create index events_noticed on events (id) where flags <> '';
create index events_expiring on events (expires_ms) where expires_ms is not null;
create index events_withdrawn on events (withdrawn_by) where withdrawn_by is not null;
create index events_twin on events (twin, id) where twin is not null;
create index events_session_occurred on events (session, occurred_ms);  -- the turns of a session as the console shows them

create table event_index (            -- derived from events; can be built again at any time
    id integer primary key,           -- events.id
    session integer not null,
    occurred_ms integer not null,
    words blob not null,              -- the parts of the event and their words
    embedder integer references embedders (id),
    vectors blob,                     -- int8, one row per part; null without a vector of this embedder
    account_id integer not null default 0
);
create index event_index_embedder on event_index (embedder);

create table event_keys (             -- derived from the user's messages: what each is about
    account_id integer not null,
    space_id integer not null,
    key text not null,
    event integer not null,
    primary key (space_id, key, event)
) without rowid;
create index event_keys_event on event_keys (event);

create table event_changes (          -- a newer turn gives another value for the same thing
    account_id integer not null,
    space_id integer not null,
    older integer not null,
    newer integer not null,
    certain integer not null,         -- 0: it may; nothing is moved
    primary key (older, newer)
) without rowid;
create index event_changes_newer on event_changes (newer);
create index event_changes_space on event_changes (space_id, newer);

create table origins (                -- imported records: an import that runs again skips them
    space_id integer not null references spaces (id),
    origin text not null,
    event integer not null,
    account_id integer not null default 0,
    primary key (space_id, origin)
);
create index origins_event on origins (event) where event > 0;  -- whether an import brought a turn

-- == memory: facts, instructions, summaries, maps, prompts, memory files ==

create table facts (                  -- critical facts and standing instructions; equal ones are one while they hold
    account_id integer not null,
    id integer primary key,
    fact_id text not null,
    space_id integer not null references spaces (id),
    session integer references sessions (id),  -- null: added without a session
    event integer,                     -- the turn it first came with
    text text not null,                -- '' once it is erased
    kind integer not null default 0,   -- 0 a fact, 1 a standing instruction, 2 a preference
    condition text,                    -- of an instruction: when it applies; null: always
    origin integer not null default 0, -- 0 stated as a fact, 1 recognised in a turn
    status integer not null default 0, -- 0 current, 1 superseded, 2 expired, 3 removed
    pinned integer not null default 0,
    valid_from_ms integer not null,
    valid_to_ms integer,
    expires_ms integer,                -- its text is erased then
    superseded_by integer,             -- id of the fact that took its place
    key_id integer,                    -- that stored it; null: not known
    uses integer not null default 0,   -- searches whose answers showed it
    used_ms integer,
    created_ms integer not null,
    author_account integer,            -- in a team: the account that wrote it
    author_user text                   -- and its user
);
create unique index facts_once on facts (space_id, text) where status = 0;
create unique index facts_fact_id on facts (account_id, fact_id);
create index facts_space on facts (space_id, id);
create index facts_used on facts (space_id, uses) where uses > 0;
create index facts_pinned on facts (space_id) where pinned = 1;
create index facts_wishes on facts (space_id, id) where kind > 0 and status = 0;
create index facts_event on facts (event);
create index facts_session on facts (session);
create index facts_alone on facts (session) where event is null;
create index facts_successor on facts (superseded_by) where superseded_by is not null;
create index facts_expiring on facts (expires_ms) where expires_ms is not null;

create table fact_sources (           -- other turns that stated the same fact
    account_id integer not null,
    fact integer not null,
    event integer not null,
    primary key (fact, event)
) without rowid;
create index fact_sources_event on fact_sources (event);

create table fact_keys (              -- derived from the texts of current facts: what each is about
    account_id integer not null,
    space_id integer not null,
    key text not null,
    fact integer not null,
    primary key (space_id, key, fact)
) without rowid;
create index fact_keys_fact on fact_keys (fact);

create table summaries (              -- L1: what happened in a part of a session
    id integer primary key,
    l1_id text not null unique,
    space_id integer not null references spaces (id),
    session integer not null references sessions (id),
    topic text,
    text text not null,
    message_count integer,            -- as the agent counts
    turns integer not null,           -- number of turns that it covers
    ratio real,                       -- its length divided by theirs
    created_ms integer not null,
    account_id integer not null default 0
);
create index summaries_space on summaries (space_id, id);
create index summaries_session on summaries (session, id);

create table maps (                   -- L2: every version of a user's map
    space_id integer not null references spaces (id),
    version integer not null,
    text text not null,
    l1_count integer not null,        -- L1s of the space at that time
    made_by text not null,            -- agent, headlines, or a model's name
    created_ms integer not null,
    account_id integer not null default 0,
    primary key (space_id, version)
);

create table layer_index (            -- derived from facts, summaries and maps; can be built again at any time
    account_id integer not null,
    id integer primary key,           -- space id << 32 | number within the space
    kind integer not null,            -- 0 a fact, 1 an L1, 2 the newest map, 3 a fact that is a standing instruction
    item integer not null,            -- id of the fact or the L1, version of the map
    words blob not null,
    embedder integer references embedders (id),
    vectors blob
);
create index layer_index_embedder on layer_index (embedder);
create index layer_index_item on layer_index (item);

create table prompts (                -- the user's own part of the agent prompt
    account_id integer not null references accounts (id),
    user_id text not null,
    text text not null,
    updated_ms integer not null,
    primary key (account_id, user_id)
);

create table memory_files (           -- files of agents under /memories: one row per change of a path
    id integer primary key,
    space_id integer not null references spaces (id),
    path text not null,
    version integer not null,         -- of this path, from 1
    is_current integer not null,      -- 1: the present state of the path
    change text not null,             -- create, str_replace, insert, delete or rename
    other_path text,                  -- of a rename: the path before or after
    bytes integer not null,           -- of its text
    flags text not null,              -- findings in its text, as words with commas between
    key_id integer not null,          -- 0: a signed-in browser, or the machine itself
    created_ms integer not null,
    text text,                        -- null: the path does not exist from this version on
    account_id integer not null default 0,
    unique (space_id, path, version)
);
create unique index memory_files_current on memory_files (space_id, path) where is_current = 1;
create index memory_files_space on memory_files (space_id, id);

-- == memory: the protocol of a session ==

create table steps (                  -- searches that counted; their text is only in the turns
    session integer not null references sessions (id),
    step integer not null,
    asked_ms integer not null,
    hits integer not null,            -- events shown
    cubes integer not null,           -- cubes shown
    owed text not null default '',    -- duties of the session at that time, as words with commas between
    key_id integer,                   -- that searched; null: not known
    account_id integer not null default 0,
    primary key (session, step)
) without rowid;
create index steps_asked on steps (asked_ms);

create table shown_events (           -- events that searches of a session returned: it may cite them
    session integer not null references sessions (id),
    event integer not null,           -- events.id
    step integer not null,            -- of the session when it was shown first
    account_id integer not null default 0,
    primary key (session, event)
) without rowid;

create table closed_duties (          -- duties closed by a word, and the reason
    id integer primary key,
    session integer not null references sessions (id),
    step integer not null,
    duty text not null,
    reason text not null,
    created_ms integer not null,
    account_id integer not null default 0
);
create index closed_duties_session on closed_duties (session, created_ms);

create table looks (                  -- results of second looks, per turn; without its text
    session integer not null references sessions (id),
    event integer not null,           -- the turn; after a revision: the revision
    key_id integer not null,          -- of the last look
    passed integer not null,          -- number of looks that it passed
    failed integer not null,
    last_passed integer not null,     -- 1: it passed the last one
    looked_ms integer not null,
    account_id integer not null default 0,
    primary key (session, event)
) without rowid;
create index looks_looked on looks (looked_ms);

-- == memory: retention ==

create table retention (              -- how long an account keeps turns; user_id '': of all users
    account_id integer not null,
    user_id text not null,
    days integer,                     -- since they occurred; null: unlimited
    events_max integer,               -- the newest ones; null: all
    set_ms integer not null,
    primary key (account_id, user_id)
) without rowid;

create table sweeps (                 -- what the last removals by expiry and retention removed
    account_id integer not null,
    id integer primary key,
    user_id text not null,
    reason text not null,             -- expired, days, events
    events integer not null,
    facts integer not null,
    summaries integer not null,
    cubes integer not null,
    swept_ms integer not null
);
create index sweeps_newest on sweeps (account_id, id);

-- == cubes ==

create table cubes (
    id integer primary key,
    cube_id text not null unique,
    account_id integer not null references accounts (id),  -- the author; never shown to others
    session integer references sessions (id),
    kind text not null,
    topic text not null,
    essence text not null,
    rules text not null,
    evidence text not null,
    model text,                       -- that wrote it, if the request named it
    status text not null check (status in ('private', 'published', 'trusted', 'retired')),
    useful integer not null default 0,  -- votes, without the author's
    useless integer not null default 0,
    created_ms integer not null,
    expires_ms integer,               -- it is erased then
    merged_into integer               -- id of the cube that is served in its place: an equal or better one
);
create index cubes_account on cubes (account_id, id);
create index cubes_shared on cubes (id) where status <> 'private';
create index cubes_private on cubes (account_id, id) where status = 'private';
create index cubes_evidence on cubes (account_id, evidence);
create index cubes_session on cubes (session);
create index cubes_status on cubes (status, id) where status <> 'private';
create index cubes_expiring on cubes (expires_ms) where expires_ms is not null;
create index cubes_merged on cubes (merged_into) where merged_into is not null;

create table cube_revision (          -- one row: grows when stored cubes were erased or embedded again
    revision integer not null
);
insert into cube_revision (revision) values (0);

create table cube_index (             -- derived from cubes; can be built again at any time
    id integer primary key references cubes (id),
    words blob not null,
    embedder integer references embedders (id),
    vectors blob
);
create index cube_index_embedder on cube_index (embedder);

create table ratings (                -- one per user and cube
    cube integer not null references cubes (id),
    account_id integer not null references accounts (id),
    user_id text not null,            -- of a forgotten user: erased_ and a random id
    vote integer not null check (vote in (-1, 0, 1)),  -- 0: not relevant, which is no vote
    reason text,
    rated_ms integer not null,
    primary key (cube, account_id, user_id)
);
create index ratings_user on ratings (account_id, user_id, vote, cube);

create table shown_cubes (            -- cubes that a session was shown, and what became of them
    session integer not null references sessions (id),
    cube integer not null references cubes (id),
    step integer not null,
    account_id integer not null default 0,
    shown_ms integer not null default 0,
    is_new integer not null default 1,  -- 1: shown as new, so that a rating is owed
    used text,                        -- how the answer used it: cited, followed or rated; null: no sign of use
    outcome integer,                  -- 1: the turn ended well, 0: badly; null: not known
    signals text,                     -- words for what said so, with commas between
    settled_ms integer,               -- when outcome was decided; null: not yet
    primary key (session, cube)
);
create index shown_cubes_step on shown_cubes (session, step);
create index shown_cubes_of_cube on shown_cubes (account_id, cube);
create index shown_cubes_open on shown_cubes (shown_ms) where settled_ms is null;

-- == files: created files; contents are in the blob store under their SHA-256 ==

create table files (
    id integer primary key,
    filename text not null unique,    -- of the download: name, 12 hex characters, extension
    account_id integer not null references accounts (id),
    user_id text,                     -- the pin of the key that made it
    blob text not null,               -- SHA-256 of its content, hex
    size_bytes integer not null,
    created_ms integer not null,
    key_id integer,                   -- that made it; 0: a signed-in browser, or the machine itself
    made_by text                      -- `file` or `program`
);
create index files_blob on files (blob);
create index files_account on files (account_id, id);

create table file_usage (             -- bytes charged to an account's quota
    account_id integer primary key references accounts (id),
    charged_bytes integer not null
);

-- == permissions: system permissions and the audit trail ==

create table grants (
    id integer primary key,
    grant_id text not null unique,
    scope text not null,              -- in normal form
    anchor text not null,             -- its fixed beginning, by which it is found
    actions text not null,            -- as words with commas between
    agent text not null,              -- `*`: every agent
    key_id integer not null,          -- that granted it
    granted_ms integer not null,
    expires_ms integer not null,
    revoked_ms integer,
    glob text                         -- a wider pattern than the scope, as SQLite's GLOB reads it; null: not known
);
create index grants_in_force on grants (anchor, agent, expires_ms, glob) where revoked_ms is null;
create index grants_live on grants (expires_ms) where revoked_ms is null;

create table allowed_checks (         -- allowed checks, which may be logged; the newest of each
    grant_id text not null references grants (grant_id),
    account_id integer not null,
    action text not null,
    path text not null,
    agent text not null,
    seq integer not null,             -- audit.seq
    primary key (grant_id, account_id, action, path)
) without rowid;

create table audit (                  -- entries are added and never changed or removed
    seq integer primary key,          -- 1, 2, 3 and so on
    entry text not null,              -- canonical JSON, with the hash of the entry before
    hash text not null                -- SHA-256 of `entry` in hex
);

create table audit_head (             -- one row: the newest entry, so that missing last entries show
    seq integer not null,
    hash text not null
);
insert into audit_head (seq, hash) values (0, '0000000000000000000000000000000000000000000000000000000000000000');

create trigger audit_in_order before insert on audit
when new.seq is not (select seq + 1 from audit_head)
begin
    select raise(abort, 'an entry of the audit trail has the number after the newest one');
end;

create trigger audit_moves_head after insert on audit
begin
    update audit_head set seq = new.seq, hash = new.hash;
end;

create trigger audit_stays before update on audit
begin
    select raise(abort, 'an entry of the audit trail is never changed');
end;

create trigger audit_is_kept before delete on audit
begin
    select raise(abort, 'an entry of the audit trail is never removed');
end;

create trigger audit_head_goes_on before update on audit_head
when new.seq is not old.seq + 1
begin
    select raise(abort, 'the head of the audit trail goes on by one');
end;

create trigger audit_head_is_kept before delete on audit_head
begin
    select raise(abort, 'the head of the audit trail is never removed');
end;

-- == feedback ==

create table feedback (
    id integer primary key,
    feedback_id text not null unique,
    account_id integer not null references accounts (id),
    type text not null,
    title text not null,
    description text not null,
    severity integer,
    created_ms integer not null,
    closed_ms integer,                -- null: open
    note text                         -- the owner's answer
);
