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
