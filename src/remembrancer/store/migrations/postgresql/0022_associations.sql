-- Names, identifiers, dates and amounts in the turns of a space, and how often they occur together.
create table event_entities (          -- derived from the texts of turns that searches find
    account_id bigint not null references accounts (id),
    space_id bigint not null,
    key text collate "C" not null,     -- its kind, a colon, its text in lower case
    event bigint not null,
    primary key (account_id, event, key)
);
create index event_entities_key on event_entities (account_id, space_id, key, event);
alter table event_entities enable row level security, force row level security;
create policy of_account on event_entities using (account_in_view() in (account_id, 0));

create table entities (
    account_id bigint not null references accounts (id),
    space_id bigint not null,
    key text collate "C" not null,
    events bigint not null,            -- number of turns with it
    primary key (account_id, space_id, key)
);
alter table entities enable row level security, force row level security;
create policy of_account on entities using (account_in_view() in (account_id, 0));

create table entity_pairs (            -- each pair in both orders
    account_id bigint not null references accounts (id),
    space_id bigint not null,
    key text collate "C" not null,
    other text collate "C" not null,
    events bigint not null,            -- number of turns with both
    primary key (account_id, space_id, key, other)
);
alter table entity_pairs enable row level security, force row level security;
create policy of_account on entity_pairs using (account_in_view() in (account_id, 0));

alter table spaces add column associated_to bigint;  -- number of the first turn without entities, stored before this migration; null: none
update spaces set associated_to = 0 where events_made > 0;
create index spaces_unassociated on spaces (id) where associated_to is not null;
