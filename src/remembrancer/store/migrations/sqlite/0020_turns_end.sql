-- Turns end: they expire, users take them back, newer ones give another value for the same thing.
alter table events add column expires_ms integer;                 -- it is erased then
alter table events add column pinned integer not null default 0;  -- retention leaves it
alter table events add column withdrawn_by integer;               -- id of the turn in which the user took it back; searches do not find it
create index events_expiring on events (expires_ms) where expires_ms is not null;
create index events_withdrawn on events (withdrawn_by) where withdrawn_by is not null;
alter table cubes add column expires_ms integer;
create index cubes_expiring on cubes (expires_ms) where expires_ms is not null;

create table event_keys (              -- derived from the user's messages: what each is about
    account_id integer not null,
    space_id integer not null,
    key text not null,
    event integer not null,
    primary key (space_id, key, event)
) without rowid;
create index event_keys_event on event_keys (event);

alter table spaces add column linked_to integer;  -- number of the first turn without keys, stored before this migration; null: none
update spaces set linked_to = 0 where events_made > 0;
create index spaces_unlinked on spaces (id) where linked_to is not null;

create table event_changes (           -- a newer turn gives another value for the same thing
    account_id integer not null,
    space_id integer not null,
    older integer not null,
    newer integer not null,
    certain integer not null,          -- 0: it may; nothing is moved
    primary key (older, newer)
) without rowid;
create index event_changes_newer on event_changes (newer);
create index event_changes_space on event_changes (space_id, newer);

create table retention (               -- how long an account keeps turns; user_id '': of all users
    account_id integer not null,
    user_id text not null,
    days integer,                      -- since they occurred; null: for ever
    events_max integer,                -- the newest ones; null: all
    set_ms integer not null,
    primary key (account_id, user_id)
) without rowid;

create table sweeps (                  -- what the last removals by expiry and retention removed
    account_id integer not null,
    id integer primary key,
    user_id text not null,
    reason text not null,              -- expired, days, events
    events integer not null,
    facts integer not null,
    summaries integer not null,
    cubes integer not null,
    swept_ms integer not null
);
create index sweeps_newest on sweeps (account_id, id);
