-- claim_layer: Assign the next number of a space's layer entries
update spaces set layers_made = layers_made + 1 where account_id = :account_id and id = :space_id returning layers_made - 1 as number;

-- add_layer: Store the index entry of a fact, an L1 or a map, if its embedder has a number
insert into layer_index (account_id, id, kind, item, words, embedder, vectors)
select :account_id, :id, :kind, :item, :words, embedders.id, :vectors from embedders where embedders.name = :derived_by;

-- add_layer [postgresql]: null vectors need a type
insert into layer_index (account_id, id, kind, item, words, embedder, vectors)
select :account_id, :id, :kind, :item, :words, embedders.id, cast(:vectors as bytea) from embedders where embedders.name = :derived_by;

-- drop_map_layers: Delete the index entries of the maps of a space
delete from layer_index where account_id = :account_id and id >= :low and id < :high and kind = 2;

-- layers_of_fact: The index entry of a fact
select id from layer_index where account_id = :account_id and item = :item and kind not in (1, 2);

-- move_layer: Give an index entry another number and kind
update layer_index set id = :new_id, kind = :kind where account_id = :account_id and id = :id;

-- drop_fact_layer: Delete the index entry of a fact
delete from layer_index where account_id = :account_id and item = :item and kind not in (1, 2);

-- drop_summary_layer: Delete the index entry of an L1
delete from layer_index where account_id = :account_id and item = :item and kind = 1;

-- layer_rows: The index entries of a space's layers from a number on, with the vectors of these two embedders
select id, kind, words, case when embedder = :embedder then vectors end as vectors,
    case when embedder = :older then vectors end as older_vectors
from layer_index where account_id = :account_id and id >= :low and id < :high order by id;

-- layer_texts: Facts, L1s and newest maps by the ids of their index entries, a JSON array
select layer_index.id, layer_index.kind, layer_index.item, coalesce(facts.text, summaries.text, maps.text) as text,
    facts.fact_id, facts.kind as fact_kind, facts.condition, facts.origin, facts.status, facts.valid_to_ms, facts.expires_ms, facts.metadata, coalesce(facts.source, summaries.source, maps.source) as source, newer.fact_id as superseded_by, summaries.l1_id, coalesce(sessions.session_id, '') as session_id, summaries.topic, events.event_id,
    coalesce(facts.valid_from_ms, summaries.created_ms, maps.created_ms) as since_ms
from layer_index
left join facts on layer_index.kind not in (1, 2) and facts.account_id = :account_id and facts.id = layer_index.item
left join facts as newer on newer.account_id = :account_id and newer.id = facts.superseded_by
left join summaries on layer_index.kind = 1 and summaries.account_id = :account_id and summaries.id = layer_index.item
left join maps on layer_index.kind = 2 and maps.account_id = :account_id and maps.space_id = layer_index.id >> 32 and maps.version = layer_index.item
left join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
left join events on events.account_id = :account_id and events.id = facts.event
where layer_index.account_id = :account_id and layer_index.id in (select value from json_each(:ids));

-- layer_texts [postgresql]: as an array, which makes the planner use the key whatever row count it expects
select layer_index.id, layer_index.kind, layer_index.item, coalesce(facts.text, summaries.text, maps.text) as text,
    facts.fact_id, facts.kind as fact_kind, facts.condition, facts.origin, facts.status, facts.valid_to_ms, facts.expires_ms, facts.metadata, coalesce(facts.source, summaries.source, maps.source) as source, newer.fact_id as superseded_by, summaries.l1_id, coalesce(sessions.session_id, '') as session_id, summaries.topic, events.event_id,
    coalesce(facts.valid_from_ms, summaries.created_ms, maps.created_ms) as since_ms
from layer_index
left join facts on layer_index.kind not in (1, 2) and facts.account_id = :account_id and facts.id = layer_index.item
left join facts as newer on newer.account_id = :account_id and newer.id = facts.superseded_by
left join summaries on layer_index.kind = 1 and summaries.account_id = :account_id and summaries.id = layer_index.item
left join maps on layer_index.kind = 2 and maps.account_id = :account_id and maps.space_id = layer_index.id >> 32 and maps.version = layer_index.item
left join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
left join events on events.account_id = :account_id and events.id = facts.event
where layer_index.account_id = :account_id and layer_index.id = any (array(select cast(value as bigint) from json_each(:ids)));

-- turns_of_l1s: The newest turns that each of some L1s covers, as JSON arrays: those of its session since the L1 before it
with l1s as materialized (
    select summaries.id, summaries.session, summaries.created_ms, coalesce((
        select max(before.created_ms) from summaries as before
        where before.account_id = :account_id and before.session = summaries.session and before.id < summaries.id
    ), -1) as before_ms
    from summaries where summaries.account_id = :account_id and summaries.id in (select value from json_each(:l1s))
)
select l1s.id as l1, (
    select json_group_array(turns.id) from (
        select events.id from events where events.account_id = :account_id and events.session = l1s.session
            and events.created_ms <= l1s.created_ms and events.created_ms > l1s.before_ms
        order by events.created_ms desc, events.id desc limit :most
    ) as turns
) as turns
from l1s;

-- turns_of_l1s [postgresql]: with its own function for a JSON array
with l1s as materialized (
    select summaries.id, summaries.session, summaries.created_ms, coalesce((
        select max(before.created_ms) from summaries as before
        where before.account_id = :account_id and before.session = summaries.session and before.id < summaries.id
    ), -1) as before_ms
    from summaries where summaries.account_id = :account_id
        and summaries.id = any (array(select cast(value as bigint) from json_each(:l1s)))
)
select l1s.id as l1, (
    select cast(coalesce(json_agg(turns.id), '[]') as text) from (
        select events.id from events where events.account_id = :account_id and events.session = l1s.session
            and events.created_ms <= l1s.created_ms and events.created_ms > l1s.before_ms
        order by events.created_ms desc, events.id desc limit :most
    ) as turns
) as turns
from l1s;

-- prune_layers: Delete the index entries of a space whose facts, L1s and maps were erased
delete from layer_index where account_id = :account_id and id >= :low and id < :high and case kind
    when 1 then not exists (select 1 from summaries where summaries.account_id = :account_id and summaries.id = layer_index.item)
    when 2 then not exists (
        select 1 from maps where maps.account_id = :account_id and maps.space_id = layer_index.id >> 32 and maps.version = layer_index.item
    )
    else not exists (select 1 from facts where facts.account_id = :account_id and facts.id = layer_index.item) end;

-- stale_layers: Some layer entries without a current index entry (ranges of one index: no full scan)
select stale.account_id, stale.id, stale.kind, stale.item from (
    select account_id, id, kind, item from layer_index where embedder is null
    union all select account_id, id, kind, item from layer_index where embedder < :embedder
    union all select account_id, id, kind, item from layer_index where embedder > :embedder
    limit :most
) as stale;

-- add_fact_key: Record what a fact is about
insert into fact_keys (account_id, space_id, key, fact) values (:account_id, :space_id, :key, :fact) on conflict do nothing;

-- set_layer: Replace the index entry of a fact, an L1 or a map
update layer_index set kind = :kind, words = :words, embedder = :embedder, vectors = :vectors where account_id = :account_id and id = :id;

-- passing_layers: The index entries of the facts of a space that pass filters, and of the L1s of sessions with a turn that does; the conditions stand for `true` and `1 = 1`
select layer_index.id from layer_index join facts on facts.account_id = :account_id and facts.id = layer_index.item
where layer_index.account_id = :account_id and layer_index.id >= :low and layer_index.id < :high and layer_index.kind not in (1, 2) and true
union all
select layer_index.id from layer_index join summaries on summaries.account_id = :account_id and summaries.id = layer_index.item
where layer_index.account_id = :account_id and layer_index.id >= :low and layer_index.id < :high and layer_index.kind = 1
    and exists (select 1 from events where events.account_id = :account_id and events.session = summaries.session and 1 = 1);

-- trusted_layers: The index entries of a space whose fact, L1 or map is as trusted as :most or more
select layer_index.id from layer_index
left join facts on layer_index.kind not in (1, 2) and facts.account_id = :account_id and facts.id = layer_index.item
left join summaries on layer_index.kind = 1 and summaries.account_id = :account_id and summaries.id = layer_index.item
left join maps on layer_index.kind = 2 and maps.account_id = :account_id and maps.space_id = layer_index.id >> 32 and maps.version = layer_index.item
where layer_index.account_id = :account_id and layer_index.id >= :low and layer_index.id < :high
    and coalesce(facts.source, summaries.source, maps.source) <= :most;
