-- What the protocol of a turn needs: where sessions stand, summaries, maps, facts, prompts, cubes with their ratings, feedback.

alter table spaces add column l1_count integer not null default 0;         -- L1 summaries of its sessions
alter table spaces add column l1_mapped integer not null default 0;        -- how many of them its newest map knows

alter table sessions add column turns integer not null default 0;           -- events kept in it
alter table sessions add column turns_summarised integer not null default 0; -- how many of them its L1s tell of
alter table sessions add column remembered_step integer not null default 0; -- the step it was at when a turn was last remembered
alter table sessions add column cube_turn integer;                          -- how many turns it had when its last cube was made
alter table sessions add column task_open integer not null default 0;       -- its latest remembered turn has not said task_done
alter table sessions add column last_turn_ms integer;

update sessions set
    remembered_step = step,                                                 -- nobody told them of duties: they owe nothing
    turns = (select count(*) from events where events.session = sessions.id),
    last_turn_ms = (select max(created_ms) from events where events.session = sessions.id);

create index sessions_open on sessions (space_id, last_turn_ms) where task_open = 1;

alter table events add column flags text not null default '';               -- what was noticed in it, in words with commas between
create index events_session on events (session, created_ms);                -- the turns of one session, in order

create table summaries (              -- L1: what happened in a stretch of a session
    id integer primary key,
    l1_id text not null unique,
    space_id integer not null references spaces (id),
    session integer not null references sessions (id),
    topic text,
    text text not null,
    message_count integer,            -- as the agent counts
    turns integer not null,           -- how many turns it tells of
    ratio real,                       -- its length as a share of theirs
    created_ms integer not null
);

create index summaries_space on summaries (space_id, id);
create index summaries_session on summaries (session, id);

create table maps (                   -- L2: every version of a user's map
    space_id integer not null references spaces (id),
    version integer not null,
    text text not null,
    l1_count integer not null,        -- how many L1s the space had then
    made_by text not null,            -- agent, headlines, or a model's name
    created_ms integer not null,
    primary key (space_id, version)
);

create table facts (                  -- critical facts
    id integer primary key,
    space_id integer not null references spaces (id),
    session integer not null references sessions (id),
    event integer,                    -- the turn it came with
    text text not null,
    created_ms integer not null,
    unique (space_id, text)
);

create index facts_space on facts (space_id, id);

create table prompts (                -- the user's own part of the agent prompt
    account_id integer not null references accounts (id),
    user_id text not null,
    text text not null,
    updated_ms integer not null,
    primary key (account_id, user_id)
);

create table cubes (
    id integer primary key,
    cube_id text not null unique,
    account_id integer not null references accounts (id), -- the author; never told to others
    session integer references sessions (id),
    kind text not null,
    topic text not null,
    essence text not null,
    rules text not null,
    evidence text not null,
    model text,                       -- that wrote it, where it was told
    status text not null check (status in ('private', 'published', 'trusted', 'retired')),
    useful integer not null default 0,   -- votes, the author's left out
    useless integer not null default 0,
    created_ms integer not null
);

create index cubes_account on cubes (account_id, id);
create index cubes_shared on cubes (id) where status <> 'private';
create index cubes_private on cubes (account_id, id) where status = 'private';

create table cube_revision (          -- one row: goes up when cubes already made were erased or embedded anew
    revision integer not null
);

insert into cube_revision (revision) values (0);

create table cube_index (             -- derived from cubes; can be built anew at any time
    id integer primary key references cubes (id),
    words blob not null,
    embedder integer references embedders (id),
    vectors blob
);

create index cube_index_embedder on cube_index (embedder);

create table ratings (                -- one of each account and cube; 0 = not relevant, which is no vote
    cube integer not null references cubes (id),
    account_id integer not null references accounts (id),
    vote integer not null check (vote in (-1, 0, 1)),
    reason text,
    rated_ms integer not null,
    primary key (cube, account_id)
);

create table shown_cubes (            -- which cubes a session was shown as new, and so owes a rating
    session integer not null references sessions (id),
    cube integer not null references cubes (id),
    step integer not null,
    primary key (session, cube)
);

create table closed_duties (          -- duties closed by a word instead of a deed, and the reason given
    id integer primary key,
    session integer not null references sessions (id),
    step integer not null,
    duty text not null,
    reason text not null,
    created_ms integer not null
);

create table feedback (
    id integer primary key,
    feedback_id text not null unique,
    account_id integer not null references accounts (id),
    type text not null,
    title text not null,
    description text not null,
    severity integer,
    created_ms integer not null
);
