-- What people look back at: the searches of a session that counted, and ways into lists that grow long.

create table steps (                  -- searches that counted; what was asked stays in the turns
    session integer not null references sessions (id),
    step integer not null,
    asked_ms integer not null,
    hits integer not null,            -- how many events it showed
    cubes integer not null,           -- how many cubes
    owed text not null default '',    -- what the session owed when it came: words of memory/rules.py with commas between
    primary key (session, step)
) without rowid;

create index events_occurred on events (id >> 32, occurred_ms, id);  -- a space by the time its events belong to
create index events_noticed on events (id) where flags <> '';
create index sessions_latest on sessions (space_id, coalesce(last_turn_ms, created_ms), id);
create index facts_event on facts (event);
create index facts_alone on facts (session) where event is null;
create index closed_duties_session on closed_duties (session, created_ms);
create index cubes_evidence on cubes (account_id, evidence);
create index cubes_session on cubes (session);
create index cubes_status on cubes (status, id) where status <> 'private';
