-- Facts, L1s and maps are searched beside the turns: they have index entries of their own.
alter table facts add column fact_id text;
update facts set fact_id = 'f_' || printf('%013d', id);
create unique index facts_fact_id on facts (account_id, fact_id);

alter table spaces add column layers_made integer not null default 0;  -- index entries of layers, ever

create table layer_index (             -- derived from facts, summaries and maps; can be built anew at any time
    account_id integer not null,
    id integer primary key,            -- the space's id, then 32 bits: the number within the space
    kind integer not null,             -- 0 a fact, 1 an L1, 2 the newest map, 3 a fact that is a standing instruction
    item integer not null,             -- id of the fact or the L1, version of the map
    words blob not null,
    embedder integer references embedders (id),
    vectors blob
);
create index layer_index_embedder on layer_index (embedder);

-- Without words, which are made when the index of the space is read, and later in the background.
insert into layer_index (account_id, id, kind, item, words)
select account_id, (space_id << 32) | (row_number() over (partition by space_id order by kind, item) - 1), kind, item, x''
from (
    select account_id, space_id, 0 as kind, id as item from facts
    union all select account_id, space_id, 1, id from summaries
    union all select account_id, space_id, 2, max(version) from maps group by account_id, space_id
);
update spaces set layers_made = (select count(*) from layer_index where layer_index.id >> 32 = spaces.id);
