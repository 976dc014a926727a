-- How well agents keep to the protocol: second looks are counted, and searches know their key.

create table looks (                  -- of each turn that was looked at a second time, how that went; no word of it
    session integer not null references sessions (id),
    event integer not null,           -- the turn; once another took its place, that one
    key_id integer not null,          -- that looked last
    passed integer not null,          -- how many looks it passed
    failed integer not null,
    last_passed integer not null,     -- whether it passed the last one
    looked_ms integer not null,
    primary key (session, event)
) without rowid;

create index looks_looked on looks (looked_ms);

alter table steps add column key_id integer;  -- that searched; null = searched before this was noted
create index steps_asked on steps (asked_ms);
create index shown_cubes_step on shown_cubes (session, step);
