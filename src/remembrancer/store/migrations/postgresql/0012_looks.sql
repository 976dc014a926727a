-- How well agents keep to the protocol: second looks are counted, and searches know their key.

create table looks (
    session bigint not null references sessions (id),
    event bigint not null,
    key_id bigint not null,
    passed bigint not null,
    failed bigint not null,
    last_passed bigint not null,
    looked_ms bigint not null,
    primary key (session, event)
);

create index looks_looked on looks (looked_ms);

alter table steps add column key_id bigint;
create index steps_asked on steps (asked_ms);
create index shown_cubes_step on shown_cubes (session, step);
