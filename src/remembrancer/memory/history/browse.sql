-- users: The user_ids of an account that have data, by name from one on
select spaces.user_id from spaces
where spaces.account_id = :account_id and spaces.user_id >= :low
    and exists (select 1 from sessions where sessions.account_id = :account_id and sessions.space_id = spaces.id)
order by spaces.user_id limit :most;

-- counts_of: The amount of data of a space
select
    (select coalesce(sum(turns), 0) from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id) as events,
    (select count(*) from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id) as sessions,
    (select count(*) from facts where facts.account_id = :account_id and facts.space_id = :space_id and facts.status = 0) as facts,
    (select count(*) from summaries where summaries.account_id = :account_id and summaries.space_id = :space_id) as summaries,
    (select coalesce(max(version), 0) from maps where maps.account_id = :account_id and maps.space_id = :space_id) as maps,
    (select count(*) from events where events.account_id = :account_id and events.flags <> '' and (events.flags like '%instruction%' or events.flags like '%secret%') and events.id >= :low and events.id < :high) as flagged;

-- newest_events: The events of a space in a period, newest first, before a cursor
select events.id, events.event_id, sessions.session_id, events.topic, events.flags, events.occurred_ms, events.created_ms,
    substr(events.query, 1, cast(:characters as integer)) as query, substr(events.response, 1, cast(:characters as integer)) as response
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and events.id >> 32 = :space_id and events.occurred_ms >= :after_ms and (events.occurred_ms, events.id) < (:before_ms, :before_id)
order by events.occurred_ms desc, events.id desc limit :most;

-- flagged_events: The events of a space that need attention, those with a secret or like an instruction, latest stored first
select events.id, events.event_id, sessions.session_id, events.topic, events.flags, events.occurred_ms, events.created_ms,
    substr(events.query, 1, cast(:characters as integer)) as query, substr(events.response, 1, cast(:characters as integer)) as response
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and events.flags <> '' and (events.flags like '%instruction%' or events.flags like '%secret%') and events.id >= :low and events.id < :before_id
order by events.id desc limit :most;

-- turn_before: The previous turn of a session
select event_id from events where account_id = :account_id and session = :session and (occurred_ms, id) < (:occurred_ms, :id) order by occurred_ms desc, id desc limit 1;

-- turn_after: The next turn of a session
select event_id from events where account_id = :account_id and session = :session and (occurred_ms, id) > (:occurred_ms, :id) order by occurred_ms, id limit 1;

-- facts_of_event: The facts that came with a turn
select text, created_ms from facts where account_id = :account_id and event = :event and space_id = :space_id and text <> '' order by id;

-- shown_in: The sessions of the space that were shown an event, and the step
select sessions.session_id, shown_events.step
from sessions cross join shown_events
where sessions.account_id = :account_id and shown_events.account_id = :account_id and shown_events.session = sessions.id and shown_events.event = :event and sessions.space_id = :space_id order by sessions.session_id limit :most;
