-- Names, identifiers, dates and amounts in the turns of a space, and how often they occur together.
create table event_entities (          -- derived from the texts of turns that searches find
    account_id integer not null,
    space_id integer not null,
    key text not null,                 -- its kind, a colon, its text in lower case
    event integer not null,
    primary key (account_id, event, key)
) without rowid;
create index event_entities_key on event_entities (account_id, space_id, key, event);

create table entities (
    account_id integer not null,
    space_id integer not null,
    key text not null,
    events integer not null,           -- number of turns with it
    primary key (account_id, space_id, key)
) without rowid;

create table entity_pairs (            -- each pair in both orders
    account_id integer not null,
    space_id integer not null,
    key text not null,
    other text not null,
    events integer not null,           -- number of turns with both
    primary key (account_id, space_id, key, other)
) without rowid;

alter table spaces add column associated_to integer;  -- number of the first turn without entities, stored before this migration; null: none
update spaces set associated_to = 0 where events_made > 0;
create index spaces_unassociated on spaces (id) where associated_to is not null;
