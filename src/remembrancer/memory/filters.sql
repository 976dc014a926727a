-- add_value: Record one value of the metadata of a turn or a fact
insert into metadata_values (account_id, space_id, kind, key, value, item)
values (:account_id, :space_id, :kind, :key, :value, :item) on conflict do nothing;

-- drop_values: Forget the values of the metadata of a turn or a fact
delete from metadata_values where account_id = :account_id and kind = :kind and item = :item;

-- set_of_event: Replace the metadata of a turn
update events set metadata = :metadata where account_id = :account_id and id = :id;

-- set_of_fact: Replace the metadata of a fact
update facts set metadata = :metadata where account_id = :account_id and id = :id;

-- events_by_value: The turns of a space with a value in their metadata; `true` stands for a condition on `key` and `value`
select item as id from metadata_values where account_id = :account_id and space_id = :space_id and kind = 0 and true;

-- facts_by_value: The facts of a space with a value in their metadata; `true` stands for a condition on `key` and `value`
select item as id from metadata_values where account_id = :account_id and space_id = :space_id and kind = 1 and true;

-- events_by_session: The turns of some sessions of a space; `true` stands for a condition on `sessions.session_id`
select turns.id as id from events as turns where turns.account_id = :account_id and turns.session in (
    select sessions.id from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id and true
);

-- facts_by_session: The facts that some sessions of a space stated; `true` stands for a condition on `sessions.session_id`
select stated.id as id from facts as stated where stated.account_id = :account_id and stated.session in (
    select sessions.id from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id and true
);

-- events_by_turn: The turns of a space by a field; `true` stands for a condition on `turns`
select turns.id as id from events as turns where turns.account_id = :account_id and turns.id >= cast(:space_id as bigint) << 32 and turns.id < (cast(:space_id as bigint) + 1) << 32 and true;

-- facts_by_turn: The facts of a space by a field of the turn that they came with; `true` stands for a condition on `turns`
select stated.id as id from facts as stated join events as turns on turns.account_id = :account_id and turns.id = stated.event
where stated.account_id = :account_id and stated.space_id = :space_id and true;

-- facts_by_field: The facts of a space by a field of their own; `true` stands for a condition on `stated`
select stated.id as id from facts as stated where stated.account_id = :account_id and stated.space_id = :space_id and true;

-- events_from: Of the turns that another statement selects, in place of `select 0 as id`, those from a row on
select found.id from (select 0 as id) as found where found.id >= :low;
