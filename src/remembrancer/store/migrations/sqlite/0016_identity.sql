-- The user_id that a key last named with a session: requests of the session that name none use it.
create table session_users (
    account_id integer not null,
    key_id integer not null,
    session_id text not null,
    user_id text not null,
    named_ms integer not null,
    other_user_id text,                   -- the user_id before, if the key named another one
    other_ms integer,
    primary key (key_id, session_id)
) without rowid;
create index session_users_account on session_users (account_id, user_id);

-- The step of its session at which a turn was remembered; null: written by another way.
alter table events add column step integer;
-- The revision that took the place of this draft, or null. A superseded event has no index entry.
alter table events add column superseded_by integer;
-- Minutes east of UTC of the `occurred_at` that the client sent: relative dates are read there.
alter table events add column occurred_offset integer not null default 0;

-- A task is open only if a turn says so. Until this schema, every turn without task_done opened one.
update sessions set task_open = 0;
