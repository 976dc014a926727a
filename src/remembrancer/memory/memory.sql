-- space_of: The space of an account's user, if anything was ever said in it
select id, events_made, revision, l1_count, l1_mapped from spaces where account_id = :account_id and user_id = :user_id;

-- searched: The same, with where the session stands in which a search is made: the step, or null where nothing was said in it
select id, events_made, revision, (
    select step from sessions where sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
) as step
from spaces where account_id = :account_id and user_id = :user_id;

-- claim_number: Number one more event of a space, making the space with its first
insert into spaces (account_id, user_id, events_made, created_ms) values (:account_id, :user_id, 1, :now_ms)
on conflict (account_id, user_id) do update set events_made = spaces.events_made + 1
returning id, events_made - 1 as number;

-- claim_number [postgresql]: a failed insert would use up a number of a space, and there are 2^31 of them
with known as (
    update spaces set events_made = events_made + 1 where account_id = :account_id and user_id = :user_id returning id, events_made
), made as (
    insert into spaces (account_id, user_id, events_made, created_ms)
    select :account_id, :user_id, 1, :now_ms where not exists (select 1 from known)
    returning id, events_made
)
select id, events_made - 1 as number from known union all select id, events_made - 1 from made;

-- open_space: The id of a space, made when it is not there
insert into spaces (account_id, user_id, created_ms) values (:account_id, :user_id, :now_ms)
on conflict (account_id, user_id) do update set user_id = excluded.user_id
returning id, l1_count, l1_mapped;

-- open_space [postgresql]: the same
with known as (
    select id, l1_count, l1_mapped from spaces where account_id = :account_id and user_id = :user_id
), made as (
    insert into spaces (account_id, user_id, created_ms)
    select :account_id, :user_id, :now_ms where not exists (select 1 from known)
    returning id, l1_count, l1_mapped
)
select id, l1_count, l1_mapped from known union all select id, l1_count, l1_mapped from made;

-- open_session: Where a session stands; it is made when it is not there
insert into sessions (account_id, space_id, session_id, created_ms) values (:account_id, :space_id, :session_id, :now_ms)
on conflict (space_id, session_id) do update set session_id = excluded.session_id
returning id, step, remembered_step, turns, turns_summarised, cube_turn;

-- open_session [postgresql]: the account leads every key
insert into sessions (account_id, space_id, session_id, created_ms) values (:account_id, :space_id, :session_id, :now_ms)
on conflict (account_id, space_id, session_id) do update set session_id = excluded.session_id
returning id, step, remembered_step, turns, turns_summarised, cube_turn;

-- count_turn: Count one more turn of a session, which is made when it is not there; with :task_open it is the turn of the session's step
insert into sessions (account_id, space_id, session_id, turns, task_open, last_turn_ms, created_ms)
values (:account_id, :space_id, :session_id, 1, coalesce(:task_open, 0), :now_ms, :now_ms)
on conflict (space_id, session_id) do update set
    turns = sessions.turns + 1, last_turn_ms = excluded.last_turn_ms, task_open = coalesce(:task_open, sessions.task_open),
    remembered_step = case when :task_open is null then sessions.remembered_step else sessions.step end
returning id, step, remembered_step, turns, turns_summarised, cube_turn;

-- count_turn [postgresql]: the account leads every key
insert into sessions (account_id, space_id, session_id, turns, task_open, last_turn_ms, created_ms)
values (:account_id, :space_id, :session_id, 1, coalesce(cast(:task_open as bigint), 0), :now_ms, :now_ms)
on conflict (account_id, space_id, session_id) do update set
    turns = sessions.turns + 1, last_turn_ms = excluded.last_turn_ms, task_open = coalesce(cast(:task_open as bigint), sessions.task_open),
    remembered_step = case when cast(:task_open as bigint) is null then sessions.remembered_step else sessions.step end
returning id, step, remembered_step, turns, turns_summarised, cube_turn;

-- session_of: Where a session stands
select id, step, remembered_step, turns, turns_summarised, cube_turn from sessions where account_id = :account_id and space_id = :space_id and session_id = :session_id;

-- standing: Where a session and the map of its space stand
select sessions.step, sessions.turns, sessions.turns_summarised, spaces.l1_count, spaces.l1_mapped
from sessions join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where sessions.account_id = :account_id and sessions.id = :session;

-- note_remembered: The turn of the session's step is remembered, and its task is done or not
update sessions set remembered_step = step, task_open = :task_open where account_id = :account_id and id = :session;

-- close_task: The session's task is done
update sessions set task_open = 0 where account_id = :account_id and id = :session;

-- note_cube: The session made a cube at its present turn
update sessions set cube_turn = turns where account_id = :account_id and id = :session;

-- same_turn: The latest turn of a session that says the same, kept since a time
select id, event_id from events
where account_id = :account_id and session = :session and created_ms > :since_ms and query = :query and response = :response
    and (occurred_ms = :told_ms or (cast(:told_ms as bigint) is null and occurred_ms > :since_ms))
order by created_ms desc limit 1;

-- close_duty: Keep by which word a duty was closed
insert into closed_duties (account_id, session, step, duty, reason, created_ms) values (:account_id, :session, :step, :duty, :reason, :now_ms);

-- open_tasks: The latest turns of the sessions of a space whose task is open, newest first, another session's than this
select sessions.session_id, sessions.turns, sessions.last_turn_ms, events.topic, events.query
from sessions join events on events.account_id = :account_id and events.id = (
    select latest.id from events as latest where latest.account_id = :account_id and latest.session = sessions.id order by latest.created_ms desc, latest.id desc limit 1
)
where sessions.account_id = :account_id and sessions.space_id = :space_id and sessions.task_open = 1 and sessions.session_id <> :session_id
order by sessions.last_turn_ms desc, sessions.id desc limit :most;

-- open_tasks [postgresql]: one look at the turns of each session, where it would read all turns of the account
select sessions.session_id, sessions.turns, sessions.last_turn_ms, newest.topic, newest.query
from sessions cross join lateral (
    select events.topic, events.query from events
    where events.account_id = :account_id and events.session = sessions.id order by events.created_ms desc, events.id desc limit 1
) as newest
where sessions.account_id = :account_id and sessions.space_id = :space_id and sessions.task_open = 1 and sessions.session_id <> :session_id
order by sessions.last_turn_ms desc, sessions.id desc limit :most;

-- next_step: Count one more search of a session
update sessions set step = step + 1 where account_id = :account_id and id = :session;

-- note_step: Keep that a search counted, how much it showed, and what was owed then
insert into steps (account_id, session, step, asked_ms, hits, cubes, owed, key_id) values (:account_id, :session, :step, :asked_ms, :hits, :cubes, :owed, :key_id)
on conflict do nothing;

-- add_event: Keep a turn as it was said
insert into events (account_id, id, event_id, session, topic, query, response, flags, occurred_ms, created_ms)
values (:account_id, :id, :event_id, :session, :topic, :query, :response, :flags, :occurred_ms, :created_ms);

-- add_index: Keep what search derives from an event, where what derived it has a number
insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
select :account_id, :id, :session, :occurred_ms, :words, embedders.id, :vectors from embedders where embedders.name = :derived_by;

-- add_index [postgresql]: vectors that there are none of want a type
insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
select :account_id, :id, :session, :occurred_ms, :words, embedders.id, cast(:vectors as bytea) from embedders where embedders.name = :derived_by;

-- index_rows: What search derives from the events of a range, vectors only where this embedder made them
select id, session, occurred_ms, words, case when embedder = :embedder then vectors end as vectors
from event_index where account_id = :account_id and id >= :low and id < :high order by id;

-- event_texts: The turns of a range as they were said
select id, topic, query, response, occurred_ms from events where account_id = :account_id and id >= :low and id < :high order by id;

-- hit: One event of a space by its place
select events.event_id, sessions.session_id, events.topic, events.query, events.response, events.flags,
    events.occurred_ms, events.created_ms
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session where events.account_id = :account_id and events.id = :id;

-- hits: Some events by their places, which are given as a JSON array: one question to a database far away, not one for each
select id, event_id, topic, query, response, flags, occurred_ms, created_ms, (
    select session_id from sessions where sessions.account_id = :account_id and sessions.id = events.session
) as session_id
from events where account_id = :account_id and id in (select value from json_each(:ids));

-- hits [postgresql]: as an array, whose rows the planner looks up by their key however many rows it thinks there are
select id, event_id, topic, query, response, flags, occurred_ms, created_ms, (
    select session_id from sessions where sessions.account_id = :account_id and sessions.id = events.session
) as session_id
from events where account_id = :account_id and id = any (array(select cast(value as bigint) from json_each(:ids)));

-- event_by_id: One event of an account by its public id
select events.id, events.event_id, spaces.user_id, sessions.session_id, events.topic, events.query, events.response, events.flags,
    events.occurred_ms, events.created_ms
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where events.account_id = :account_id and events.event_id = :event_id;

-- origin_known: Whether an import already brought this in
select event from origins where account_id = :account_id and space_id = :space_id and origin = :origin;

-- add_origin: Remember where an imported event came from
insert into origins (account_id, space_id, origin, event) values (:account_id, :space_id, :origin, :event);

-- stale: Some events that nothing or something else derived words and vectors for (ranges of one index: no full scan)
select events.account_id, events.id, events.topic, events.query, events.response, events.occurred_ms
from (
    select account_id, id from event_index where embedder is null
    union all select account_id, id from event_index where embedder < :embedder
    union all select account_id, id from event_index where embedder > :embedder
    limit :most
) as stale join events on events.account_id = stale.account_id and events.id = stale.id;

-- stale [postgresql]: in the order of the index, so that one space is whole before the next; SQLite does so by itself
select events.account_id, events.id, events.topic, events.query, events.response, events.occurred_ms
from (
    (select account_id, id from event_index where embedder is null order by account_id, id limit :most)
    union all (select account_id, id from event_index where embedder < :embedder order by embedder, account_id, id limit :most)
    union all (select account_id, id from event_index where embedder > :embedder order by embedder, account_id, id limit :most)
    limit :most
) as stale join events on events.account_id = stale.account_id and events.id = stale.id;

-- is_stale: Whether an event of a range is still to be derived anew
select
    exists (select 1 from event_index where account_id = :account_id and embedder is null and id >= :low and id < :high)
    or exists (
        select 1 from embedders cross join event_index  -- in this order: a range of the index for each embedder, not all of the space
        where event_index.account_id = :account_id and event_index.embedder = embedders.id and embedders.id <> :embedder and event_index.id >= :low and event_index.id < :high
    ) as found;

-- set_index: Derive an event anew
update event_index set words = :words, embedder = :embedder, vectors = :vectors where account_id = :account_id and id = :id;

-- revise_space: Let every index of a space be read anew
update spaces set revision = revision + 1 where account_id = :account_id and id = :space_id;

-- spaces_newest: The newest spaces, with as many events as their indexes would hold, for warming up
select account_id, id, events_made from spaces where events_made > 0 order by id desc limit :most;

-- space_by_id: A space as it is now
select id, events_made, revision, l1_count, l1_mapped from spaces where account_id = :account_id and id = :id;

-- note_hits: Remember that a session was shown some events, whose ids are given as a JSON array
insert into shown_events (account_id, session, event, step)
select events.account_id, :session, events.id, :step from events where events.account_id = :account_id
    and events.event_id in (select value from json_each(:event_ids))
on conflict do nothing;

-- note_hits [postgresql]: as an array, for the same reason
insert into shown_events (account_id, session, event, step)
select events.account_id, :session, events.id, :step from events where events.account_id = :account_id
    and events.event_id = any (array(select value from json_each(:event_ids)))
on conflict do nothing;
