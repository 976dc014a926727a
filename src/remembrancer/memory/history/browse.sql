-- users: The user_ids of an account that have data, by name from one on
select spaces.user_id from spaces
where spaces.account_id = :account_id and spaces.user_id >= :low
    and coalesce(
        (select 1 from sessions where sessions.account_id = :account_id and sessions.space_id = spaces.id limit 1),
        (select 1 from facts where facts.account_id = :account_id and facts.space_id = spaces.id and facts.status = 0 limit 1),
        (select 1 from memory_files where memory_files.account_id = :account_id and memory_files.space_id = spaces.id and is_current = 1 limit 1)
    ) = 1
order by spaces.user_id limit :most;

-- counts_of: The amount of data of a space
select
    (select coalesce(sum(turns), 0) from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id) as events,
    (select count(*) from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id) as sessions,
    (select count(*) from facts where facts.account_id = :account_id and facts.space_id = :space_id and facts.status = 0) as facts,
    (select count(*) from facts where facts.account_id = :account_id and facts.space_id = :space_id and facts.status = 0 and facts.kind > 0) as wishes,
    (select count(*) from summaries where summaries.account_id = :account_id and summaries.space_id = :space_id) as summaries,
    (select coalesce(max(version), 0) from maps where maps.account_id = :account_id and maps.space_id = :space_id) as maps,
    (select count(*) from events where events.account_id = :account_id and events.flags <> '' and (events.flags like '%instruction%' or events.flags like '%secret%') and events.id >= :low and events.id < :high) as flagged;

-- projects_of: The projects of the turns of a space, each with its number of turns
select value as place, count(*) as n from metadata_values
where account_id = :account_id and space_id = :space_id and kind = 0 and key = 'project' and value like 's%'
group by value order by n desc, value limit :most;

-- labels_of: The sources of the messages and the topics of a space, of the latest turns only
select source, topic, count(*) as n from (
    select query_source as source, topic from events where account_id = :account_id and id >> 32 = :space_id
        and id >= (cast(:space_id as bigint) << 32) and id < ((cast(:space_id as bigint) + 1) << 32)  -- row-level security hides the first condition from PostgreSQL's planner
    order by occurred_ms desc, id desc limit :most
) as latest group by source, topic order by n desc, source, topic;

-- summaries_below: The L1s of a space below an id, newest first
select summaries.id, summaries.l1_id, sessions.session_id, summaries.text, summaries.created_ms
from summaries join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
where summaries.account_id = :account_id and summaries.space_id = :space_id and summaries.id < :below order by summaries.id desc limit :most;

-- flagged_events: The events of a space that need attention, those with a secret or like an instruction, latest stored first
select id from events
where account_id = :account_id and flags <> '' and (flags like '%instruction%' or flags like '%secret%') and id >= :low and id < :before_id
order by id desc limit :most;

-- turns_before: The turns of a session before one, latest first
select id from events where account_id = :account_id and session = :session and (occurred_ms, id) < (:occurred_ms, :id) order by occurred_ms desc, id desc limit :most;

-- turns_after: The turns of a session after one, earliest first
select id from events where account_id = :account_id and session = :session and (occurred_ms, id) > (:occurred_ms, :id) order by occurred_ms, id limit :most;

-- facts_of_event: The facts that came with a turn
select text, created_ms from facts where account_id = :account_id and event = :event and space_id = :space_id and text <> '' order by id;

-- shown_in: The sessions of the space that were shown an event, and the step
select sessions.session_id, shown_events.step
from sessions cross join shown_events
where sessions.account_id = :account_id and shown_events.account_id = :account_id and shown_events.session = sessions.id and shown_events.event = :event and sessions.space_id = :space_id order by sessions.session_id limit :most;

-- sessions: The sessions of a space, latest turn first, before a cursor
select sessions.id, sessions.session_id, sessions.step, sessions.remembered_step, sessions.turns, sessions.turns_summarised, sessions.turns_without_l1,
    sessions.open_task is not null as task_open, sessions.created_ms, coalesce(sessions.last_turn_ms, sessions.created_ms) as last_ms,
    (select count(*) from summaries where summaries.account_id = :account_id and summaries.session = sessions.id) as summaries,
    (
        select substr(earliest.query, 1, 400) from events as earliest
        where earliest.account_id = :account_id and earliest.session = sessions.id and earliest.query <> '' order by earliest.occurred_ms, earliest.id limit 1
    ) as first,
    (
        select substr(summaries.text, 1, cast(:characters as integer)) from summaries
        where summaries.account_id = :account_id and summaries.session = sessions.id order by summaries.id desc limit 1
    ) as summary,
    substr(events.query, 1, cast(:characters as integer)) as query, events.topic
from sessions left join events on events.account_id = :account_id and events.id = (
    select latest.id from events as latest where latest.account_id = :account_id and latest.session = sessions.id order by latest.created_ms desc, latest.id desc limit 1
)
where sessions.account_id = :account_id and sessions.space_id = :space_id
    and coalesce(sessions.last_turn_ms, sessions.created_ms) <= :before_ms  -- repeats the next line, from which SQLite derives no index range
    and (coalesce(sessions.last_turn_ms, sessions.created_ms), sessions.id) < (:before_ms, :before_id)
order by coalesce(sessions.last_turn_ms, sessions.created_ms) desc, sessions.id desc limit :most;

-- sessions [postgresql]: one look-up for each session; the other form reads all turns of the account
select sessions.id, sessions.session_id, sessions.step, sessions.remembered_step, sessions.turns, sessions.turns_summarised, sessions.turns_without_l1,
    sessions.open_task is not null as task_open, sessions.created_ms, coalesce(sessions.last_turn_ms, sessions.created_ms) as last_ms,
    (select count(*) from summaries where summaries.account_id = :account_id and summaries.session = sessions.id) as summaries,
    (
        select substr(earliest.query, 1, 400) from events as earliest
        where earliest.account_id = :account_id and earliest.session = sessions.id and earliest.query <> '' order by earliest.occurred_ms, earliest.id limit 1
    ) as first,
    (
        select substr(summaries.text, 1, cast(:characters as integer)) from summaries
        where summaries.account_id = :account_id and summaries.session = sessions.id order by summaries.id desc limit 1
    ) as summary,
    newest.query, newest.topic
from sessions left join lateral (
    select substr(events.query, 1, cast(:characters as integer)) as query, events.topic from events
    where events.account_id = :account_id and events.session = sessions.id order by events.created_ms desc, events.id desc limit 1
) as newest on true
where sessions.account_id = :account_id and sessions.space_id = :space_id
    and (coalesce(sessions.last_turn_ms, sessions.created_ms), sessions.id) < (:before_ms, :before_id)
order by coalesce(sessions.last_turn_ms, sessions.created_ms) desc, sessions.id desc limit :most;

-- session: The state of one session, and its first request
select (
    select substr(earliest.query, 1, 400) from events as earliest
    where earliest.account_id = :account_id and earliest.session = sessions.id and earliest.query <> '' order by earliest.occurred_ms, earliest.id limit 1
) as first, id, step, remembered_step, turns, turns_summarised, turns_without_l1, turns_without_cube, open_task is not null as task_open, cube_turn, created_ms, last_turn_ms
from sessions where account_id = :account_id and space_id = :space_id and session_id = :session_id;

-- turns: The turns of a session before a cursor, latest occurrence first
select id, event_id, topic, flags, superseded_by, occurred_ms, created_ms, substr(query, 1, cast(:characters as integer)) as query, substr(response, 1, cast(:characters as integer)) as response
from events where account_id = :account_id and session = :session and (occurred_ms, id) < (:before_ms, :before_id) order by occurred_ms desc, id desc limit :most;

-- imported_turns: Count the turns of a session that an import brought
select count(*) as n from events where account_id = :account_id and session = :session and step is null
    and exists (select 1 from origins where origins.account_id = :account_id and origins.event = events.id and origins.event > 0);

-- steps_in: The counted searches of a session in a period
select step, asked_ms, hits, cubes, owed from steps where account_id = :account_id and session = :session and asked_ms >= :low and asked_ms < :high order by step desc limit :most;

-- step_after: The duties that were open at a step
select owed from steps where account_id = :account_id and session = :session and step = :step;

-- shown_between: The events that searches of a session showed first, for a range of steps
select shown_events.step, events.event_id from shown_events join events on events.account_id = :account_id and events.id = shown_events.event
where shown_events.account_id = :account_id and shown_events.session = :session and shown_events.step >= :first and shown_events.step <= :last
order by shown_events.step, events.id limit :most;

-- summaries_in: The L1s of a session in a period
select l1_id, topic, text, message_count, turns, ratio, created_ms from summaries
where account_id = :account_id and session = :session and created_ms >= :low and created_ms < :high order by id limit :most;

-- facts_alone: The facts of a session that came without a turn, in a period
select text, created_ms from facts where account_id = :account_id and session = :session and event is null and text <> '' and created_ms >= :low and created_ms < :high order by id limit :most;

-- fact_with: The facts that came with a turn
select text from facts where account_id = :account_id and event = :event and session = :session and text <> '' order by id;

-- duties_in: The duties of a session that a word closed, in a period
select duty, reason, step, created_ms from closed_duties
where account_id = :account_id and session = :session and created_ms >= :low and created_ms < :high order by created_ms, id limit :most;

-- votes_in: The user's ratings of the cubes that a session was shown, in a period
select cubes.cube_id, cubes.topic, ratings.vote, ratings.reason, ratings.rated_ms as created_ms
from shown_cubes join sessions on sessions.account_id = :account_id and sessions.id = shown_cubes.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
join ratings on ratings.cube = shown_cubes.cube and ratings.account_id = :account_id and ratings.user_id = spaces.user_id
join cubes on cubes.id = shown_cubes.cube
where shown_cubes.account_id = :account_id and shown_cubes.session = :session and ratings.rated_ms >= :low and ratings.rated_ms < :high order by ratings.rated_ms limit :most;

-- cubes_in: The cubes that a session created, in a period
select cube_id, kind, topic, essence, status, created_ms from cubes
where account_id = :account_id and session = :session and created_ms >= :low and created_ms < :high order by id limit :most;

-- newest_of_space: The events of a space between two places, latest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and id >> 32 = :space_id and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
    and true  -- stands for the condition of filters
order by occurred_ms desc, id desc limit :most;

-- oldest_of_space: The events of a space between two places, earliest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and id >> 32 = :space_id and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
    and true  -- stands for the condition of filters
order by occurred_ms, id limit :most;

-- newest_of_session: The events of a session between two places, latest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and session = :session and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
    and true  -- stands for the condition of filters
order by occurred_ms desc, id desc limit :most;

-- oldest_of_session: The events of a session between two places, earliest first
select id, occurred_ms, length(query) + length(response) as characters from events
where account_id = :account_id and session = :session and (occurred_ms, id) > (:low_ms, :low_id) and (occurred_ms, id) < (:high_ms, :high_id)
    and true  -- stands for the condition of filters
order by occurred_ms, id limit :most;

-- events_whole: Events by id, a JSON array; the plus keeps SQLite from reading all events of the account
select events.id, events.event_id, sessions.session_id, events.topic, events.flags, events.occurred_ms, events.created_ms, events.metadata, events.query_source, events.response_source, events.query, events.response
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where +events.account_id = :account_id and events.id in (select cast(value as bigint) from json_each(:ids));

-- events_whole [postgresql]: as an array, which makes the planner use the key
select events.id, events.event_id, sessions.session_id, events.topic, events.flags, events.occurred_ms, events.created_ms, events.metadata, events.query_source, events.response_source, events.query, events.response
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and events.id = any (array(select cast(value as bigint) from json_each(:ids)));
