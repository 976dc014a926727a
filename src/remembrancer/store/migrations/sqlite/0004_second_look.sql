-- What second look needs: which events a session was shown, and the turn that a draft was saved as.

create table shown_events (           -- what searches of a session returned, so that it may be cited there
    session integer not null references sessions (id),
    event integer not null,           -- events.id
    step integer not null,            -- of the session when it was shown first
    primary key (session, event)
) without rowid;

-- The length of a response and its beginning, white space at its end aside: enough to find a turn again by what it answered.
alter table events add column reply text generated always as (
    length(rtrim(response, char(
        9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233,
        8239, 8287, 12288)))
    || ' ' || substr(rtrim(response, char(
        9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233,
        8239, 8287, 12288)), 1, 40)
) virtual;

create index events_reply on events (reply);
