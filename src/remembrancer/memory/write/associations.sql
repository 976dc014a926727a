-- add_entities: Record the entities of a turn, a JSON array of keys
insert into event_entities (account_id, space_id, key, event)
select :account_id, :space_id, value, :event from json_each(:keys) where true on conflict do nothing;

-- count_entities: Count a turn for its entities
insert into entities (account_id, space_id, key, events)
select :account_id, :space_id, value, 1 from json_each(:keys) where true
on conflict (account_id, space_id, key) do update set events = entities.events + 1;

-- count_pairs: Count a turn for every two of its entities
insert into entity_pairs (account_id, space_id, key, other, events)
select :account_id, :space_id, first.value, second.value, 1 from json_each(:keys) as first cross join json_each(:keys) as second
where first.value <> second.value
on conflict (account_id, space_id, key, other) do update set events = entity_pairs.events + 1;

-- entities_in_range: The entities of turns of a range
select event, key from event_entities where event_entities.account_id = :account_id and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms
);

-- uncount_entities: Take turns from the counts of entities, a JSON array of keys
update entities set events = events - :turns
where account_id = :account_id and space_id = :space_id and key in (select value from json_each(:keys));

-- uncount_pairs: Take turns from the counts of an entity with others, a JSON array of keys
update entity_pairs set events = events - :turns
where account_id = :account_id and space_id = :space_id and key = :key and other in (select value from json_each(:others));

-- prune_entities: Erase those of some entities, a JSON array of keys, that no turn has any more
delete from entities
where account_id = :account_id and space_id = :space_id and key in (select value from json_each(:keys)) and events <= 0;

-- prune_pairs: Erase those pairs of some entities, a JSON array of keys, that no turn has any more
delete from entity_pairs
where account_id = :account_id and space_id = :space_id and key in (select value from json_each(:keys)) and events <= 0;

-- erase_entities_of_turns: Erase which entities turns have
delete from event_entities where event_entities.account_id = :account_id and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms
);

-- erase_entities_of_space: Erase which entities the turns of a space have
delete from event_entities where account_id = :account_id and space_id = :space_id;

-- erase_entities: Erase the entities of a space
delete from entities where account_id = :account_id and space_id = :space_id;

-- erase_pairs: Erase the pairs of a space
delete from entity_pairs where account_id = :account_id and space_id = :space_id;

-- unassociated_space: A space of any account with turns that were stored before turns had entities
select account_id, id, associated_to, events_made from spaces where associated_to is not null order by id limit 1;

-- unassociated_turns: Turns of a range that searches may find
select id, query, response, flags from events
where account_id = :account_id and id >= :low and id < :high and superseded_by is null and withdrawn_by is null order by id;

-- note_associated: Record up to which turn a space has entities; null: to the last one
update spaces set associated_to = :associated_to where account_id = :account_id and id = :space_id;

-- most_frequent: The entities that most turns of a space have
select key, events from entities where account_id = :account_id and space_id = :space_id and events > 1 order by events desc, key limit :most;

-- pairs_of: What most often occurs together with an entity, and the number of turns of each
select entity_pairs.other, entity_pairs.events, entities.events as turns from entity_pairs
join entities on entities.account_id = entity_pairs.account_id and entities.space_id = entity_pairs.space_id and entities.key = entity_pairs.other
where entity_pairs.account_id = :account_id and entity_pairs.space_id = :space_id and entity_pairs.key = :key
order by entity_pairs.events desc, entity_pairs.other limit :most;

-- newest_turn_with: The newest turn with an entity, and with another one if there is one
select event_id, query, response from events where account_id = :account_id and id = (
    select event_entities.event from event_entities
    where event_entities.account_id = :account_id and event_entities.space_id = :space_id and event_entities.key = :key
    and (cast(:other as text) is null or exists (
        select 1 from event_entities as others
        where others.account_id = :account_id and others.event = event_entities.event and others.key = :other
    ))
    order by event_entities.event desc limit 1
);

-- topics_of_latest: The topics of the latest turns of a space, the most frequent first
select topic, count(*) as turns from (
    select topic from events where account_id = :account_id and id >> 32 = :space_id and id >= (cast(:space_id as bigint) << 32) and id < ((cast(:space_id as bigint) + 1) << 32)
    order by occurred_ms desc, id desc limit :newest
) as latest where topic is not null and topic <> '' group by topic order by turns desc, topic limit :most;

-- entities_of_topics: How many of the latest turns of topics, a JSON array, have each of some entities, another one
select latest.topic, event_entities.key, count(*) as turns from (
    select id, topic from events where account_id = :account_id and id >> 32 = :space_id and id >= (cast(:space_id as bigint) << 32) and id < ((cast(:space_id as bigint) + 1) << 32)
    order by occurred_ms desc, id desc limit :newest
) as latest cross join event_entities  -- join order: the latest turns first, not all entities of the account
where event_entities.account_id = :account_id and event_entities.event = latest.id
    and latest.topic in (select value from json_each(:topics)) and event_entities.key in (select value from json_each(:keys))
group by latest.topic, event_entities.key;

-- sessions_with: The sessions that most of the newest turns with an entity are in
select sessions.session_id, count(*) as turns from (
    select event from event_entities where account_id = :account_id and space_id = :space_id and key = :key order by event desc limit :newest
) as latest
join events on events.account_id = :account_id and events.id = latest.event
join sessions on sessions.account_id = :account_id and sessions.id = events.session
group by sessions.session_id order by turns desc, sessions.session_id limit :most;

-- sessions_of_topic: The sessions that most of the latest turns with a topic are in
select sessions.session_id, count(*) as turns from (
    select session, topic from events where account_id = :account_id and id >> 32 = :space_id and id >= (cast(:space_id as bigint) << 32) and id < ((cast(:space_id as bigint) + 1) << 32)
    order by occurred_ms desc, id desc limit :newest
) as latest join sessions on sessions.account_id = :account_id and sessions.id = latest.session
where latest.topic = :topic group by sessions.session_id order by turns desc, sessions.session_id limit :most;
