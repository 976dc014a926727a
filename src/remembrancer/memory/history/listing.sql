-- newest_of_space: The events of a space between two places, latest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and id >> 32 = :space_id and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
order by occurred_ms desc, id desc limit :most;

-- oldest_of_space: The events of a space between two places, earliest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and id >> 32 = :space_id and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
order by occurred_ms, id limit :most;

-- newest_of_session: The events of a session between two places, latest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and session = :session and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
order by occurred_ms desc, id desc limit :most;

-- oldest_of_session: The events of a session between two places, earliest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and session = :session and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
order by occurred_ms, id limit :most;

-- events_whole: Events by id, a JSON array; the plus keeps SQLite from reading all events of the account
select events.id, events.event_id, sessions.session_id, events.topic, events.flags, events.occurred_ms, events.created_ms, events.query, events.response
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where +events.account_id = :account_id and events.id in (select cast(value as bigint) from json_each(:ids));

-- events_whole [postgresql]: as an array, which makes the planner use the key
select events.id, events.event_id, sessions.session_id, events.topic, events.flags, events.occurred_ms, events.created_ms, events.query, events.response
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and events.id = any (array(select cast(value as bigint) from json_each(:ids)));
