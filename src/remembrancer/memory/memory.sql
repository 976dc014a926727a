-- space_of: The space of an account's user, if it exists
select id, events_made, revision, l1_count, l1_mapped from spaces where account_id = :account_id and user_id = :user_id;

-- open_space: Return a space; create it if necessary
insert into spaces (account_id, user_id, created_ms) values (:account_id, :user_id, :now_ms)
on conflict (account_id, user_id) do update set user_id = excluded.user_id
returning id, l1_count, l1_mapped;

-- open_space [postgresql]: a failed insert would use up a space id
with known as (
    select id, l1_count, l1_mapped from spaces where account_id = :account_id and user_id = :user_id
), made as (
    insert into spaces (account_id, user_id, created_ms)
    select :account_id, :user_id, :now_ms where not exists (select 1 from known)
    returning id, l1_count, l1_mapped
)
select id, l1_count, l1_mapped from known union all select id, l1_count, l1_mapped from made;

-- session_of: Return the state of a session
select id, step, remembered_step, turns, turns_summarised, cube_turn from sessions where account_id = :account_id and space_id = :space_id and session_id = :session_id;

-- session_state: The counters of a session and of the map of its space
select sessions.step, sessions.turns, sessions.turns_summarised, spaces.l1_count, spaces.l1_mapped
from sessions join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where sessions.account_id = :account_id and sessions.id = :session;

-- note_remembered: Record that the turn of the session's step is remembered
update sessions set remembered_step = step where account_id = :account_id and id = :session;

-- take_part: Let a stored turn be the one of its session's step
update events set step = :step where account_id = :account_id and id = :id;

-- count_part: Count a turn that takes part in the protocol
update sessions set remembered_step = step, turns_without_l1 = turns_without_l1 + 1, turns_without_cube = turns_without_cube + 1
where account_id = :account_id and id = :session;

-- open_task: Record the turn that opens a task of its session, unless one is open
update sessions set open_task = :event_id where account_id = :account_id and id = :session and open_task is null;

-- end_tasks: End the task of a session and those that these turns opened, a JSON array
update sessions set open_task = null
where account_id = :account_id and space_id = :space_id and open_task is not null
    and (id = :session or open_task in (select value from json_each(:task_ids)));

-- end_task_of_session: End the task of a session
update sessions set open_task = null where account_id = :account_id and session_id = :session_id
    and space_id = (select id from spaces where account_id = :account_id and user_id = :user_id);

-- note_tasks: Record that a session was shown tasks: their ids, each after a comma
update sessions set tasks_shown = tasks_shown || :shown where account_id = :account_id and id = :session;

-- messages_of_session: The latest messages of a session
select query from events where account_id = :account_id and session = :session and withdrawn_by is null order by id desc limit :most;

-- note_cube: Record that the session created a cube at its current turn
update sessions set cube_turn = turns, turns_without_cube = 0 where account_id = :account_id and id = :session;

-- same_turn: The latest identical turn of a session and step stored since a time
select id, event_id from events
where account_id = :account_id and session = :session and created_ms > :since_ms and query = :query and response = :response
    and superseded_by is null and coalesce(step, :step) = :step
    and (occurred_ms = :told_ms or (cast(:told_ms as bigint) is null and occurred_ms > :since_ms))
order by created_ms desc limit 1;

-- drafts_of_step: The other answers to a message that were remembered at one step of a session
select id, event_id from events
where account_id = :account_id and session = :session and step = :step and query = :query and superseded_by is null and id <> :id;

-- close_duty: Record the word that closed a duty
insert into closed_duties (account_id, session, step, duty, reason, created_ms) values (:account_id, :session, :step, :duty, :reason, :now_ms);

-- close_cube_duty: Record that the turns of a session until now bring no cube
update sessions set turns_without_cube = 0 where account_id = :account_id and id = :session;

-- open_tasks: The open tasks of the other sessions of a space, with the turns that opened them, latest turn of the session first
select sessions.session_id, events.event_id, events.query, events.created_ms
from sessions join events on events.account_id = :account_id and events.event_id = sessions.open_task
where sessions.account_id = :account_id and sessions.space_id = :space_id and sessions.open_task is not null and sessions.session_id <> :session_id
    and sessions.last_turn_ms > :since_ms and events.withdrawn_by is null and events.query_source <= :rank
    and (events.expires_ms is null or events.expires_ms > :now_ms)
order by sessions.last_turn_ms desc, sessions.id desc limit :most;

-- first_alike: The first event of a space with the same twin, in one session if :session is not null
select id from events
where account_id = :account_id and twin = :twin and id >= :low and id < :high and superseded_by is null and withdrawn_by is null
    and (cast(:session as bigint) is null or session = cast(:session as bigint))
order by id limit 1;

-- add_index: Store the index entry of an event, if its embedder has a number
insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
select :account_id, :id, :session, :occurred_ms, :words, embedders.id, :vectors from embedders where embedders.name = :derived_by;

-- add_index [postgresql]: null vectors need a type
insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
select :account_id, :id, :session, :occurred_ms, :words, embedders.id, cast(:vectors as bytea) from embedders where embedders.name = :derived_by;

-- index_rows: The index entries of a range of events, with the vectors of these two embedders
select id, session, occurred_ms, words, case when embedder = :embedder then vectors end as vectors,
    case when embedder = :older then vectors end as older_vectors
from event_index where account_id = :account_id and id >= :low and id < :high order by id;

-- event_texts: The texts of a range of events
select id, topic, query, response, occurred_ms from events where account_id = :account_id and id >= :low and id < :high order by id;

-- hit: One event by its row id
select events.event_id, sessions.session_id, events.topic, events.query, events.response, events.flags,
    events.occurred_ms, events.created_ms
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session where events.account_id = :account_id and events.id = :id;

-- hits: Events by their row ids, a JSON array: one query instead of one for each event
select id, event_id, topic, query, response, flags, occurred_ms, created_ms, metadata, query_source, response_source, (
    select session_id from sessions where sessions.account_id = :account_id and sessions.id = events.session
) as session_id
from events where account_id = :account_id and id in (select value from json_each(:ids));

-- hits [postgresql]: as an array, which makes the planner use the key whatever row count it expects
select id, event_id, topic, query, response, flags, occurred_ms, created_ms, metadata, query_source, response_source, (
    select session_id from sessions where sessions.account_id = :account_id and sessions.id = events.session
) as session_id
from events where account_id = :account_id and id = any (array(select cast(value as bigint) from json_each(:ids)));

-- event_by_id: One event of an account by its public id
select events.id, events.event_id, spaces.user_id, sessions.session_id, events.topic, events.query, events.response, events.flags,
    events.occurred_ms, events.occurred_offset, events.created_ms, events.metadata, events.query_source, events.response_source
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where events.account_id = :account_id and events.event_id = :event_id;

-- fate_of: The revision that superseded an event, and how its second looks ended
select revisions.event_id as revision_id, originals.event_id as original_id, withdrawals.event_id as withdrawal_id, accounts.name as author, events.author_user, events.expires_ms, events.pinned, looks.passed, looks.failed, looks.last_passed, looks.looked_ms
from events left join events as revisions on revisions.account_id = :account_id and revisions.id = events.superseded_by
left join events as originals on originals.account_id = :account_id and originals.id = events.repeats
left join events as withdrawals on withdrawals.account_id = :account_id and withdrawals.id = events.withdrawn_by
left join accounts on accounts.id = events.author_account
left join looks on looks.account_id = :account_id and looks.session = events.session and looks.event = events.id
where events.account_id = :account_id and events.id = :id;

-- event_of_origin: The event that an earlier import stored for an origin
select event from origins where account_id = :account_id and space_id = :space_id and origin = :origin;

-- imported_turn: The session and the text of an event that an import stored
select sessions.session_id, events.query, events.response
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and events.id = :event;

-- add_origin: Record the origin of an imported event
insert into origins (account_id, space_id, origin, event) values (:account_id, :space_id, :origin, :event);

-- stale: Some events without a current index entry (ranges of one index: no full scan)
select events.account_id, events.id, events.topic, events.query, events.response, events.flags, events.occurred_ms
from (
    select account_id, id from event_index where embedder is null
    union all select account_id, id from event_index where embedder < :embedder
    union all select account_id, id from event_index where embedder > :embedder
    limit :most
) as stale join events on events.account_id = stale.account_id and events.id = stale.id;

-- stale [postgresql]: in the order of the index, so that one space is complete before the next; SQLite does so by itself
select events.account_id, events.id, events.topic, events.query, events.response, events.flags, events.occurred_ms
from (
    (select account_id, id from event_index where embedder is null order by account_id, id limit :most)
    union all (select account_id, id from event_index where embedder < :embedder order by embedder, account_id, id limit :most)
    union all (select account_id, id from event_index where embedder > :embedder order by embedder, account_id, id limit :most)
    limit :most
) as stale join events on events.account_id = stale.account_id and events.id = stale.id;

-- is_stale: Whether a range of events has one without a current index entry
select
    exists (select 1 from event_index where account_id = :account_id and embedder is null and id >= :low and id < :high)
    or exists (
        select 1 from embedders cross join event_index  -- in this order: a range of the index for each embedder, not all of the space
        where event_index.account_id = :account_id and event_index.embedder = embedders.id and embedders.id <> :embedder and event_index.id >= :low and event_index.id < :high
    ) as found;

-- set_index: Replace the index entry of an event
update event_index set words = :words, embedder = :embedder, vectors = :vectors where account_id = :account_id and id = :id;

-- revise_space: Make every cached index of a space reload
update spaces set revision = revision + 1 where account_id = :account_id and id = :space_id;

-- spaces_newest: The newest spaces with their numbers of events, to warm up
select account_id, id, events_made from spaces where events_made > 0 order by id desc limit :most;

-- space_owner: The account of a space
select id, account_id from spaces where id = :id;

-- space_by_id: The current state of a space
select id, events_made, revision, l1_count, l1_mapped from spaces where account_id = :account_id and id = :id;

-- note_hits: Record that a session, if it still exists, was shown some events, whose ids are a JSON array
insert into shown_events (account_id, session, event, step)
select events.account_id, :session, events.id, :step from events where events.account_id = :account_id
    and events.event_id in (select value from json_each(:event_ids))
    and exists (select 1 from sessions where sessions.account_id = :account_id and sessions.id = :session)
on conflict do nothing;

-- note_hits [postgresql]: as an array, for the same reason
insert into shown_events (account_id, session, event, step)
select events.account_id, :session, events.id, :step from events where events.account_id = :account_id
    and events.event_id = any (array(select value from json_each(:event_ids)))
    and exists (select 1 from sessions where sessions.account_id = :account_id and sessions.id = :session)
on conflict do nothing;

-- session_turns: The latest turns of a session, newest first
select events.event_id, events.topic, events.query, events.response from events
join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and sessions.space_id = :space_id and sessions.session_id = :session_id and events.superseded_by is null and events.withdrawn_by is null
order by events.created_ms desc, events.id desc limit :most;
