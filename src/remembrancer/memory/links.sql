-- add_keys: Record what a turn is about, a JSON array of keys
insert into event_keys (account_id, space_id, key, event)
select :account_id, :space_id, value, :event from json_each(:keys) where true on conflict do nothing;

-- related: The newest turns of a space, given by :space_id or else by :user_id, with one of these keys, a JSON array; of each key the newest are read alone, because a tenth of a user's turns may share one
select events.id, events.event_id, events.query, events.query_source, events.occurred_ms, events.metadata
from (
    select distinct stated.event
    from (select coalesce(cast(:space_id as bigint), (select id from spaces where account_id = :account_id and user_id = :user_id)) as id) as space
    cross join json_each(:keys) as named
    cross join event_keys as stated
    where stated.account_id = :account_id and stated.space_id = space.id and stated.key = named.value
        and stated.event >= coalesce((
            select event from event_keys where account_id = :account_id and space_id = space.id and key = named.value
            order by event desc limit 1 offset :most - 1
        ), 0)
    order by stated.event desc limit :most
) as related join events on events.account_id = :account_id and events.id = related.event
where events.id <> :id and events.superseded_by is null and events.withdrawn_by is null
order by events.id desc;

-- related [postgresql]: with lateral
select events.id, events.event_id, events.query, events.query_source, events.occurred_ms, events.metadata
from (
    select distinct stated.event
    from json_each(:keys) as named cross join lateral (
        select event from event_keys
        where account_id = :account_id and space_id = (select coalesce(cast(:space_id as bigint), (select id from spaces where account_id = :account_id and user_id = :user_id))) and key = named.value
        order by event desc limit :most
    ) as stated
    order by stated.event desc limit :most
) as related join events on events.account_id = :account_id and events.id = related.event
where events.id <> :id and events.superseded_by is null and events.withdrawn_by is null
order by events.id desc;

-- add_change: Record that a newer turn gives, or may give, another value than an older one
insert into event_changes (account_id, space_id, older, newer, certain) values (:account_id, :space_id, :older, :newer, :certain)
on conflict do nothing;

-- changes_of: What newer turns changed about turns, and what these changed, by ids of events, a JSON array
select linked.older, linked.newer, linked.certain, older_events.event_id as older_id, newer_events.event_id as newer_id, newer_events.occurred_ms
from (
    select older, newer, certain from event_changes where account_id = :account_id and older in (select cast(value as bigint) from json_each(:ids))
    union select older, newer, certain from event_changes where account_id = :account_id and newer in (select cast(value as bigint) from json_each(:ids))
) as linked
join events as older_events on older_events.account_id = :account_id and older_events.id = linked.older
join events as newer_events on newer_events.account_id = :account_id and newer_events.id = linked.newer
order by linked.newer, linked.older;

-- newest_messages: The newest turns of a space that the user may mean
select id, event_id, query, author_account, author_user from events
where account_id = :account_id and id >= :low and id < :high and id <> :id and superseded_by is null and withdrawn_by is null
order by id desc limit :most;

-- withdraw: Record that the user took a turn back
update events set withdrawn_by = :by where account_id = :account_id and id = :id and withdrawn_by is null;

-- end_facts_like: The current facts of a space, newest first
select facts.id, facts.text, facts.valid_from_ms,
    coalesce(facts.author_account, events.author_account) as author_account, coalesce(facts.author_user, events.author_user) as author_user
from facts left join events on events.account_id = :account_id and events.id = facts.event
where facts.account_id = :account_id and facts.space_id = :space_id and facts.status = 0
    and (facts.valid_to_ms is null or facts.valid_to_ms > :now_ms) order by facts.id desc limit :most;

-- end_fact: Let a fact hold no longer
update facts set valid_to_ms = case when :now_ms > valid_from_ms then :now_ms else valid_from_ms end where account_id = :account_id and id = :id;

-- restore: Let searches find a turn again
update events set withdrawn_by = null where account_id = :account_id and id = :id;

-- erase_keys_of_turns: Erase what turns are about
delete from event_keys where event_keys.account_id = :account_id and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- erase_values_of_turns: Erase the values of the metadata of turns
delete from metadata_values where metadata_values.account_id = :account_id and kind = 0 and item in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- erase_changed: Erase the changes of turns by newer ones
delete from event_changes where event_changes.account_id = :account_id and older in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- erase_changing: Erase the changes by turns of older ones
delete from event_changes where event_changes.account_id = :account_id and newer in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);
