-- renew_equal: Let the current fact with this text expire if its time is over, so that it can be stored again; let one that was recognised be stated if :stated is 1, and be as trusted as the more trusted of its sources
update facts set origin = case when :stated = 1 then 0 else origin end, source = case when :source < source then :source else source end,
    status = case when expires_ms <= :now_ms or valid_to_ms <= :now_ms then 2 else status end
where account_id = :account_id and space_id = :space_id and text = :text and status = 0
    and (expires_ms <= :now_ms or valid_to_ms <= :now_ms or (:stated = 1 and origin = 1) or :source < source);

-- add_fact: Store a critical fact, unless the space has it
insert into facts (account_id, fact_id, space_id, session, event, text, kind, condition, origin, pinned, valid_from_ms, valid_to_ms, expires_ms, key_id, metadata, source, created_ms)
values (:account_id, :fact_id, :space_id, :session, :event, :text, :kind, :condition, :origin, :pinned, :valid_from_ms, :valid_to_ms, :expires_ms, :key_id, :metadata, :source, :now_ms)
on conflict do nothing returning id, fact_id;

-- equal_fact: The current fact of a space with this text
select id, fact_id, event, kind, metadata from facts
where account_id = :account_id and space_id = :space_id and text = :text and status = 0;

-- stated_in_turn: The facts that hold and that a turn stated, without one of them
select id, fact_id, text, kind as fact_kind, condition, source from facts
where account_id = :account_id and space_id = :space_id and event = :event and status = 0 and id <> :id;

-- add_source: Record another turn that stated a fact
insert into fact_sources (account_id, fact, event) values (:account_id, :fact, :event) on conflict do nothing;

-- set_source: Let a fact come from a source, by its rank
update facts set source = :source where account_id = :account_id and id = :id;

-- set_kind: Let a fact be a standing instruction or a preference
update facts set kind = :kind, condition = :condition where account_id = :account_id and id = :id;

-- drop_keys: Forget what a fact is about
delete from fact_keys where account_id = :account_id and fact = :fact;

-- related: The newest current facts of a space with one of these keys, a JSON array: of a common key only the newest are read; the plus keeps SQLite from reading all facts of the account
select facts.id, facts.fact_id, facts.text, facts.source, facts.valid_from_ms, facts.metadata
from facts where +facts.account_id = :account_id and facts.status = 0 and facts.id <> :id and facts.id in (
    select fact_keys.fact from json_each(:keys) as wanted cross join fact_keys
    where fact_keys.account_id = :account_id and fact_keys.space_id = :space_id and fact_keys.key = wanted.value and fact_keys.fact >= coalesce((
        select newest.fact from fact_keys as newest where newest.account_id = :account_id and newest.space_id = :space_id and newest.key = wanted.value
        order by newest.fact desc limit 1 offset :most
    ), 0)
) order by facts.id desc limit :most;

-- related [postgresql]: without the plus, which it does not need
select facts.id, facts.fact_id, facts.text, facts.source, facts.valid_from_ms, facts.metadata
from facts where facts.account_id = :account_id and facts.status = 0 and facts.id <> :id and facts.id in (
    select fact_keys.fact from json_each(:keys) as wanted cross join fact_keys
    where fact_keys.account_id = :account_id and fact_keys.space_id = :space_id and fact_keys.key = wanted.value and fact_keys.fact >= coalesce((
        select newest.fact from fact_keys as newest where newest.account_id = :account_id and newest.space_id = :space_id and newest.key = wanted.value
        order by newest.fact desc limit 1 offset :most
    ), 0)
) order by facts.id desc limit :most;

-- newest_facts: The newest facts of a space that hold, with the vectors of an embedder, without one of them; the plus keeps SQLite from reading all facts of the account
select facts.id, facts.fact_id, facts.text, facts.source, facts.valid_from_ms, facts.metadata, layer_index.vectors
from facts join layer_index on layer_index.account_id = :account_id and layer_index.item = facts.id and layer_index.kind not in (1, 2)
where +facts.account_id = :account_id and facts.space_id = :space_id and facts.status = 0 and facts.kind <> 1 and facts.id <> :id
    and layer_index.embedder = (select embedders.id from embedders where embedders.name = :by) and layer_index.vectors is not null
order by facts.id desc limit :most;

-- newest_facts [postgresql]: without the plus, which it does not need
select facts.id, facts.fact_id, facts.text, facts.source, facts.valid_from_ms, facts.metadata, layer_index.vectors
from facts join layer_index on layer_index.account_id = :account_id and layer_index.item = facts.id and layer_index.kind not in (1, 2)
where facts.account_id = :account_id and facts.space_id = :space_id and facts.status = 0 and facts.kind <> 1 and facts.id <> :id
    and layer_index.embedder = (select embedders.id from embedders where embedders.name = :by) and layer_index.vectors is not null
order by facts.id desc limit :most;

-- current_wishes: The newest instructions and preferences of a space that hold, without one of them
select id, fact_id, text, kind as fact_kind, condition, valid_from_ms, metadata from facts
where account_id = :account_id and space_id = :space_id and kind > 0 and status = 0 and id <> :id order by id desc limit :most;

-- fact_by_id: A fact by its identifier, with its user
select facts.id, facts.fact_id, facts.space_id, facts.status, facts.text, facts.superseded_by, facts.pinned, facts.metadata, facts.source,
    facts.valid_from_ms, facts.valid_to_ms, facts.expires_ms, spaces.user_id
from facts join spaces on spaces.account_id = :account_id and spaces.id = facts.space_id
where facts.account_id = :account_id and facts.fact_id = :fact_id;

-- supersede_fact: Let a newer fact take the place of a current one
update facts set status = 1, superseded_by = :newer,
    valid_to_ms = coalesce(valid_to_ms, case when :from_ms > valid_from_ms then :from_ms else valid_from_ms end)
where account_id = :account_id and id = :older and status = 0;

-- keep_as_version: Let the old wording of a fact be a version of the new one, under an id of its own
update facts set fact_id = :version_id, origin = 2 where account_id = :account_id and id = :old;

-- take_identity: Let the new wording of a fact have its id, turns and uses
update facts set fact_id = :fact_id, session = old.session, event = old.event, uses = old.uses, used_ms = old.used_ms, author_account = old.author_account, author_user = old.author_user
from (select session, event, uses, used_ms, author_account, author_user from facts where account_id = :account_id and id = :old) as old
where facts.account_id = :account_id and facts.id = :new;

-- move_predecessors: Let the new wording of a fact be what took the place of earlier facts and versions
update facts set superseded_by = :new where account_id = :account_id and superseded_by = :old;

-- move_sources_of_fact: Let the turns that stated a fact be those of its new wording
update fact_sources set fact = :new where account_id = :account_id and fact = :old;

-- versions: The earlier wordings of a fact
select id, fact_id from facts where account_id = :account_id and superseded_by = :id and origin = 2 and text <> '';

-- revive_fact: Let a superseded fact hold again
update facts set status = 0, superseded_by = null, valid_to_ms = null where account_id = :account_id and id = :id and status = 1;

-- change_fact: Change the times of a fact and whether it is pinned
update facts set pinned = :pinned, valid_from_ms = :valid_from_ms, valid_to_ms = :valid_to_ms, expires_ms = :expires_ms
where account_id = :account_id and id = :id;

-- erase_fact: Erase the text of a fact; its id and times stay, so that chains stay whole
update facts set status = :status, text = '', pinned = 0 where account_id = :account_id and id = :id;

-- erase_sources: Erase the record of other turns that stated a fact
delete from fact_sources where account_id = :account_id and fact = :fact;

-- expiring: Facts of all accounts whose text is to be erased
select account_id, id, fact_id, space_id from facts where expires_ms <= :now_ms and text <> '' order by expires_ms limit :most;

-- note_uses: Count that an answer showed facts, a JSON array of identifiers
update facts set uses = uses + 1, used_ms = :now_ms
where account_id = :account_id and fact_id in (select value from json_each(:fact_ids));

-- facts_page: Facts of a space below an id, newest first
select facts.id from facts
where facts.account_id = :account_id and facts.space_id = :space_id and facts.id < :below
    and (:which = 'all' or (:which = 'facts' and facts.origin <> 1) or (:which = 'instructions' and facts.kind > 0))
    and (facts.origin <> 2 or cast(:as_of_ms as bigint) is not null)  -- a version, which held then
    and (cast(:status as bigint) is null or :status = case
        when facts.status = 0 and (facts.expires_ms <= :now_ms or facts.valid_to_ms <= :now_ms) then 2 else facts.status end)
    and (cast(:as_of_ms as bigint) is null or (
        facts.status <> 3 and facts.text <> '' and facts.valid_from_ms <= :as_of_ms
        and (facts.valid_to_ms is null or facts.valid_to_ms > :as_of_ms)
        and (facts.expires_ms is null or facts.expires_ms > :now_ms)
    ))
    and true  -- stands for the condition of filters
order by facts.id desc limit :most;

-- facts_whole: Facts with their history, by id, a JSON array; the plus keeps SQLite from reading all facts of the account
select facts.id, facts.fact_id, facts.text, facts.status, facts.kind, facts.condition, facts.origin, facts.pinned, facts.valid_from_ms, facts.valid_to_ms, facts.expires_ms,
    facts.metadata, facts.source, facts.created_ms, newer.fact_id as superseded_by, events.event_id, keys.label as written_by
from facts
left join facts as newer on newer.account_id = :account_id and newer.id = facts.superseded_by
left join events on events.account_id = :account_id and events.id = facts.event
left join keys on keys.id = facts.key_id and keys.account_id = :account_id
where +facts.account_id = :account_id and facts.id in (select cast(value as bigint) from json_each(:ids));

-- facts_whole [postgresql]: as an array, which makes the planner use the key
select facts.id, facts.fact_id, facts.text, facts.status, facts.kind, facts.condition, facts.origin, facts.pinned, facts.valid_from_ms, facts.valid_to_ms, facts.expires_ms,
    facts.metadata, facts.source, facts.created_ms, newer.fact_id as superseded_by, events.event_id, keys.label as written_by
from facts
left join facts as newer on newer.account_id = :account_id and newer.id = facts.superseded_by
left join events on events.account_id = :account_id and events.id = facts.event
left join keys on keys.id = facts.key_id and keys.account_id = :account_id
where facts.account_id = :account_id and facts.id = any (array(select cast(value as bigint) from json_each(:ids)));

-- sources_of: The turns that stated facts beside the first one, oldest first
select fact_sources.fact, events.event_id
from fact_sources join events on events.account_id = :account_id and events.id = fact_sources.event
where fact_sources.account_id = :account_id and fact_sources.fact in (select cast(value as bigint) from json_each(:ids))
order by fact_sources.event;

-- superseded_of: The facts and the wordings whose place facts took, oldest first; the plus keeps SQLite from reading all facts of the account
select superseded_by as fact, fact_id, origin, text, valid_from_ms, valid_to_ms from facts
where +account_id = :account_id and superseded_by in (select cast(value as bigint) from json_each(:ids)) order by id;

-- superseded_of [postgresql]: without the plus, which it does not need
select superseded_by as fact, fact_id, origin, text, valid_from_ms, valid_to_ms from facts
where account_id = :account_id and superseded_by in (select cast(value as bigint) from json_each(:ids)) order by id;

-- facts_for_start: The facts that a start pack may hold: pinned ones, the newest and the most used
select facts.id, facts.text, facts.kind, facts.source, facts.pinned, facts.metadata, facts.valid_from_ms, facts.uses, coalesce(facts.used_ms, facts.created_ms) as used_ms, facts.created_ms
from facts where facts.account_id = :account_id and facts.id in (
    select id from (select id from facts where account_id = :account_id and space_id = :space_id and pinned = 1 order by id desc limit :most) as pinned_facts
    union select id from (select id from facts where account_id = :account_id and space_id = :space_id order by id desc limit :most) as newest
    union select id from (
        select id from facts where account_id = :account_id and space_id = :space_id and uses > 0 order by uses desc, id desc limit :most
    ) as most_used
) and facts.status = 0 and facts.valid_from_ms <= :now_ms
    and (facts.expires_ms is null or facts.expires_ms > :now_ms) and (facts.valid_to_ms is null or facts.valid_to_ms > :now_ms);

-- facts_as_of: The facts of a space that held at a time, newest first
select facts.text, facts.kind, facts.source, facts.pinned, facts.metadata, facts.valid_from_ms from facts
where facts.account_id = :account_id and facts.space_id = :space_id and facts.status <> 3 and facts.text <> ''
    and facts.valid_from_ms <= :as_of_ms and (facts.valid_to_ms is null or facts.valid_to_ms > :as_of_ms)
    and (facts.expires_ms is null or facts.expires_ms > :now_ms)
order by facts.pinned desc, facts.id desc limit :most;

-- timeline: Ids of a fact, of all that it superseded and of all that superseded it, latest start first
with recursive later (id) as (
    select cast(:id as bigint)
    union
    select facts.superseded_by from facts join later on facts.id = later.id
    where facts.account_id = :account_id and facts.superseded_by is not null
), earlier (id) as (
    select cast(:id as bigint)
    union
    select facts.id from facts join earlier on facts.superseded_by = earlier.id where facts.account_id = :account_id
)
select facts.id from facts
where facts.account_id = :account_id and facts.id in (select id from later union select id from earlier)
order by facts.valid_from_ms desc, facts.id desc limit :most;
