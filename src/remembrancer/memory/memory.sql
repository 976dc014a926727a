-- space_of: The space of an account's user, if anything was ever said in it
select id, events_made, revision from spaces where account_id = :account_id and user_id = :user_id;

-- claim_number: Number one more event of a space, making the space with its first
insert into spaces (account_id, user_id, events_made, created_ms) values (:account_id, :user_id, 1, :now_ms)
on conflict (account_id, user_id) do update set events_made = spaces.events_made + 1
returning id, events_made - 1 as number;

-- open_space: The id of a space, made when it is not there
insert into spaces (account_id, user_id, created_ms) values (:account_id, :user_id, :now_ms)
on conflict (account_id, user_id) do update set user_id = excluded.user_id
returning id;

-- open_session: A session of a space with its step, made when it is not there
insert into sessions (space_id, session_id, created_ms) values (:space_id, :session_id, :now_ms)
on conflict (space_id, session_id) do update set session_id = excluded.session_id
returning id, step;

-- next_step: Count one more search of a session
insert into sessions (space_id, session_id, step, created_ms) values (:space_id, :session_id, 1, :now_ms)
on conflict (space_id, session_id) do update set step = sessions.step + 1
returning step;

-- step_of: The step a session is at
select step from sessions where space_id = :space_id and session_id = :session_id;

-- add_event: Keep a turn as it was said
insert into events (id, event_id, session, topic, query, response, occurred_ms, created_ms)
values (:id, :event_id, :session, :topic, :query, :response, :occurred_ms, :created_ms);

-- add_index: Keep what search derives from an event
insert into event_index (id, session, occurred_ms, words, embedder, vectors)
values (:id, :session, :occurred_ms, :words, :embedder, :vectors);

-- index_rows: What search derives from the events of a range, vectors only where this embedder made them
select id, session, occurred_ms, words, case when embedder = :embedder then vectors end as vectors
from event_index where id >= :low and id < :high order by id;

-- event_texts: The turns of a range as they were said
select id, topic, query, response, occurred_ms from events where id >= :low and id < :high order by id;

-- hit: One event of a space by its place
select events.event_id, sessions.session_id, events.topic, events.query, events.response, events.occurred_ms, events.created_ms
from events join sessions on sessions.id = events.session where events.id = :id;

-- event_by_id: One event of an account by its public id
select events.id, events.event_id, spaces.user_id, sessions.session_id, events.topic, events.query, events.response,
    events.occurred_ms, events.created_ms
from events join sessions on sessions.id = events.session join spaces on spaces.id = sessions.space_id
where events.event_id = :event_id and spaces.account_id = :account_id;

-- origin_known: Whether an import already brought this in
select event from origins where space_id = :space_id and origin = :origin;

-- add_origin: Remember where an imported event came from
insert into origins (space_id, origin, event) values (:space_id, :origin, :event);

-- stale: Some events that nothing or something else derived words and vectors for (ranges of one index: no full scan)
select events.id, events.topic, events.query, events.response, events.occurred_ms
from (
    select id from event_index where embedder is null
    union all select id from event_index where embedder < :embedder
    union all select id from event_index where embedder > :embedder
    limit :most
) as stale join events on events.id = stale.id;

-- is_stale: Whether an event of a range is still to be derived anew
select
    exists (select 1 from event_index where embedder is null and id >= :low and id < :high)
    or exists (
        select 1 from embedders cross join event_index  -- in this order: a range of the index for each embedder, not all of the space
        where event_index.embedder = embedders.id and embedders.id <> :embedder and event_index.id >= :low and event_index.id < :high
    ) as found;

-- set_index: Derive an event anew
update event_index set words = :words, embedder = :embedder, vectors = :vectors where id = :id;

-- revise_space: Let every index of a space be read anew
update spaces set revision = revision + 1 where id = :space_id;

-- spaces_newest: The newest spaces, with as many events as their indexes would hold, for warming up
select id, events_made from spaces where events_made > 0 order by id desc limit :most;

-- space_by_id: A space as it is now
select id, events_made, revision from spaces where id = :id;
