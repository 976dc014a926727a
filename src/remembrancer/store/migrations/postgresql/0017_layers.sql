-- Facts, L1s and maps are searched beside the turns: they have index entries of their own.
alter table facts add column fact_id text collate "C";
update facts set fact_id = 'f_' || lpad(id::text, 13, '0');
create unique index facts_fact_id on facts (account_id, fact_id);

alter table spaces add column layers_made bigint not null default 0;  -- index entries of layers, ever

create table layer_index (             -- derived from facts, summaries and maps; can be built anew at any time
    account_id bigint not null references accounts (id),
    id bigint not null,                -- the space's id, then 32 bits: the number within the space
    kind bigint not null,              -- 0 a fact, 1 an L1, 2 the newest map, 3 a fact that is a standing instruction
    item bigint not null,              -- id of the fact or the L1, version of the map
    words bytea not null,
    embedder bigint references embedders (id),
    vectors bytea,
    primary key (account_id, id)
);
create index layer_index_embedder on layer_index (embedder, account_id, id);
alter table layer_index enable row level security, force row level security;
create policy of_account on layer_index using (account_in_view() in (account_id, 0));

-- Without words, which are made when the index of the space is read, and later in the background.
insert into layer_index (account_id, id, kind, item, words)
select account_id, (space_id << 32) | (row_number() over (partition by account_id, space_id order by kind, item) - 1), kind, item, ''::bytea
from (
    select account_id, space_id, 0 as kind, id as item from facts
    union all select account_id, space_id, 1, id from summaries
    union all select account_id, space_id, 2, max(version) from maps group by account_id, space_id
) as items;
update spaces set layers_made = made.entries
from (select account_id, id >> 32 as space_id, count(*) as entries from layer_index group by account_id, id >> 32) as made
where spaces.account_id = made.account_id and spaces.id = made.space_id;
