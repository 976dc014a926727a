-- l1_of: The newest L1 of a session
select id, l1_id, text, ratio, turns from summaries where account_id = :account_id and session = :session order by id desc limit 1;

-- source_of: The number and length of the latest turns of a session; with null as :turns those that no L1 covers
select count(*) as turns, coalesce(sum(length(later.query) + length(later.response)), 0) as characters,
    max(case when later.query_source > later.response_source then later.query_source else later.response_source end) as source
from (
    select events.query, events.response, events.query_source, events.response_source, events.withdrawn_by from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
    where events.account_id = :account_id and sessions.id = :session and events.superseded_by is null
    order by events.created_ms desc, events.id desc
    limit coalesce(cast(:turns as bigint), (select turns - turns_summarised from sessions where sessions.account_id = :account_id and id = :session))
) as later where later.withdrawn_by is null;

-- source_turns: The latest turns of a session that no L1 covers, newest first
select event_id, topic, query, response, occurred_ms, occurred_offset
from (
    select events.id, events.event_id, events.topic, events.query, events.response, events.occurred_ms, events.occurred_offset, events.created_ms, events.withdrawn_by from events
    where events.account_id = :account_id and events.session = :session and events.superseded_by is null
    order by events.created_ms desc, events.id desc
    limit (select turns - turns_summarised from sessions where sessions.account_id = :account_id and id = :session)
) as later where later.withdrawn_by is null
order by created_ms desc, id desc limit :most;

-- add_l1: Store an L1
insert into summaries (account_id, l1_id, space_id, session, topic, text, message_count, turns, ratio, source, created_ms)
values (:account_id, :l1_id, :space_id, :session, :topic, :text, :message_count, :turns, :ratio, :source, :now_ms)
returning id;

-- change_l1: Replace the text of an L1
update summaries set topic = :topic, text = :text, message_count = :message_count, ratio = :ratio, source = :source where account_id = :account_id and id = :id;

-- note_l1: Record that all turns of the session are summarised
update sessions set turns_summarised = turns, turns_without_l1 = 0 where account_id = :account_id and id = :session;

-- count_l1: Count one more L1 of a space
update spaces set l1_count = l1_count + 1 where account_id = :account_id and id = :space_id;

-- l1s: The L1s of a space with their sessions, oldest first
select summaries.l1_id, summaries.session, sessions.session_id, summaries.topic, summaries.text, summaries.created_ms
from summaries join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
where summaries.account_id = :account_id and summaries.space_id = :space_id order by summaries.id;

-- l1s_of_session: The newest L1s of one session, newest first
select summaries.text, summaries.source, summaries.created_ms from summaries join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
where summaries.account_id = :account_id and sessions.space_id = :space_id and sessions.session_id = :session_id
    and summaries.created_ms <= :until_ms
order by summaries.id desc limit :most;

-- newest_map: The newest map of a space; notes are none
select version, text, l1_count, made_by, source, created_ms from maps where account_id = :account_id and space_id = :space_id and made_by <> 'note' order by version desc limit 1;

-- map_at: The newest map of a space at a time
select version, text, l1_count, made_by, source, created_ms from maps
where account_id = :account_id and space_id = :space_id and created_ms <= :until_ms and made_by <> 'note' order by version desc limit 1;

-- latest_version: The newest version of a space's map, notes included
select version, text, made_by from maps where account_id = :account_id and space_id = :space_id order by version desc limit 1;

-- map_of_version: One version of a map
select version, text, l1_count, made_by, source, created_ms from maps where account_id = :account_id and space_id = :space_id and version = :version;

-- map_versions: The versions of a map below a number, newest first, without their text
select version, l1_count, made_by, created_ms, length(text) as characters
from maps where account_id = :account_id and space_id = :space_id and version < :below order by version desc limit :most;

-- agents_map: The newest map of a space that its agent wrote
select version, text, l1_count from maps where account_id = :account_id and space_id = :space_id and made_by = 'agent' order by version desc limit 1;

-- add_map: Store a new version of a map
insert into maps (account_id, space_id, version, text, l1_count, made_by, created_ms, source)
select account_id, id, :version, :text, l1_count, :made_by, :now_ms,
    coalesce((select max(summaries.source) from summaries where summaries.account_id = :account_id and summaries.space_id = spaces.id), 1)
from spaces where spaces.account_id = :account_id and id = :space_id;

-- note_map: Record that the newest map covers every L1
update spaces set l1_mapped = l1_count where account_id = :account_id and id = :space_id;

-- count_for_start: The numbers of facts and L1s that a start pack can contain
select
    (select count(*) from facts where facts.account_id = :account_id and facts.space_id = :space_id and facts.status = 0) as facts,
    (
        select count(*) from summaries join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
        where summaries.account_id = :account_id and sessions.space_id = :space_id and sessions.session_id = :session_id
    ) as summaries;

-- last_turns_of_project: The newest turns of a project, a coded value, in other sessions than one, newest first
select events.session, events.query, events.response, events.occurred_ms from (
    select item from metadata_values
    where account_id = :account_id and space_id = :space_id and kind = 0 and key = 'project' and value = :value
    order by item desc limit :most
) as newest
join events on events.account_id = :account_id and events.id = newest.item
join sessions on sessions.account_id = :account_id and sessions.id = events.session
where sessions.session_id <> :session_id and events.superseded_by is null and events.withdrawn_by is null
    and (events.expires_ms is null or events.expires_ms > :now_ms)
order by events.id desc;
