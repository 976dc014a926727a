-- Metadata of turns and facts, and an index of its values, by which filters find them.

alter table events add column metadata text;  -- a flat JSON object; null: none
alter table facts add column metadata text;

create table metadata_values (        -- derived from the metadata of turns and facts
    account_id integer not null,
    space_id integer not null,
    kind integer not null,            -- of the item: 0 a turn, 1 a fact
    key text not null,
    value text not null,              -- a letter for its type, then the value: memory/filters.py
    item integer not null,            -- events.id or facts.id
    primary key (space_id, kind, key, value, item)
) without rowid;
create index metadata_values_item on metadata_values (kind, item);
