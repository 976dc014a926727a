-- Accounts and keys, spaces and their sessions, events and what search derives from them.

create table accounts (
    id integer primary key,
    name text not null unique,
    role text not null check (role in ('owner', 'member')),
    created_ms integer not null
);

create table keys (
    id integer primary key,
    account_id integer not null references accounts (id),
    digest blob not null unique,      -- SHA-256 of the whole key; the key itself is never kept
    hint text not null,               -- first 8 hex characters, for people to tell keys apart
    label text not null,
    user_id text,                     -- the pin; null = every user_id of the account
    read_only integer not null,
    created_ms integer not null,
    expires_ms integer,
    revoked_ms integer,
    last_used_ms integer
);

create table spaces (
    id integer primary key,
    account_id integer not null references accounts (id),
    user_id text not null,
    events_made integer not null default 0,  -- numbers the events of the space; never goes down
    revision integer not null default 0,     -- goes up when events already made were erased or embedded anew
    created_ms integer not null,
    unique (account_id, user_id)
);

create table sessions (
    id integer primary key,
    space_id integer not null references spaces (id),
    session_id text not null,
    step integer not null default 0,
    created_ms integer not null,
    unique (space_id, session_id)
);

create table events (
    id integer primary key,           -- space id << 32 | number within the space: one space is one range
    event_id text not null unique,
    session integer not null references sessions (id),
    topic text,
    query text not null,
    response text not null,
    occurred_ms integer not null,
    created_ms integer not null
);

create table origins (                -- what an import already brought in, so that it can be run again
    space_id integer not null references spaces (id),
    origin text not null,
    event integer not null,
    primary key (space_id, origin)
);

create table embedders (
    id integer primary key,
    name text not null unique         -- name and version, such as multilingual/0.2.1
);

create table event_index (            -- derived from events; can be built anew at any time
    id integer primary key,           -- events.id
    session integer not null,
    occurred_ms integer not null,
    words blob not null,              -- search.analysis: the parts of the event and their words
    embedder integer references embedders (id),
    vectors blob                      -- int8, one row a part; null while there is no vector of this embedder
);

create index event_index_embedder on event_index (embedder);

create table answers (                -- first answers to writes that carried an Idempotency-Key
    key_id integer not null references keys (id),
    path text not null,
    idempotency_key text not null,
    body_digest blob not null,
    answer text not null,
    created_ms integer not null,
    primary key (key_id, path, idempotency_key)
);
