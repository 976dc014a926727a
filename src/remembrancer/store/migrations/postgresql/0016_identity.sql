-- The user_id that a key last named with a session: requests of the session that name none use it.
create table session_users (
    account_id bigint not null references accounts (id),
    key_id bigint not null,
    session_id text collate "C" not null,
    user_id text collate "C" not null,
    named_ms bigint not null,
    other_user_id text collate "C",       -- the user_id before, if the key named another one
    other_ms bigint,
    primary key (account_id, key_id, session_id)
);
create index session_users_account on session_users (account_id, user_id);
alter table session_users enable row level security, force row level security;
create policy of_account on session_users using (account_in_view() in (account_id, 0));

-- The step of its session at which a turn was remembered; null: written by another way.
alter table events add column step bigint;
-- The revision that took the place of this draft, or null. A superseded event has no index entry.
alter table events add column superseded_by bigint;
-- Minutes east of UTC of the `occurred_at` that the client sent: relative dates are read there.
alter table events add column occurred_offset bigint not null default 0;

-- A task is open only if a turn says so. Until this schema, every turn without task_done opened one.
update sessions set task_open = 0;
