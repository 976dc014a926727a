-- Facts have a life: they hold for a time, are superseded, expire, are pinned and removed. Equal ones are one while they hold.
alter table facts
    alter column session drop not null,            -- null: added without a session
    alter column fact_id set not null,
    add column status bigint not null default 0,   -- 0 current, 1 superseded, 2 expired, 3 removed
    add column kind bigint not null default 0,     -- 0 a fact, 1 a standing instruction, 2 a preference
    add column condition text,                     -- of an instruction: when it applies; null: always
    add column origin bigint not null default 0,   -- 0 stated as a fact, 1 recognised in a turn
    add column pinned bigint not null default 0,
    add column valid_from_ms bigint,
    add column valid_to_ms bigint,
    add column expires_ms bigint,                  -- its text is erased then
    add column superseded_by bigint,               -- id of the fact that took its place
    add column key_id bigint,                      -- that stored it; null: not known
    add column uses bigint not null default 0,     -- searches whose answers showed it
    add column used_ms bigint;
update facts set valid_from_ms = coalesce(
    (select events.occurred_ms from events where events.account_id = facts.account_id and events.id = facts.event), facts.created_ms
);
alter table facts alter column valid_from_ms set not null;
drop index facts_once;
create unique index facts_once on facts (account_id, space_id, digest_of(text)) where status = 0;
create index facts_used on facts (account_id, space_id, uses) where uses > 0;
create index facts_pinned on facts (account_id, space_id) where pinned = 1;
create index facts_wishes on facts (account_id, space_id, id) where kind > 0 and status = 0;
create index facts_successor on facts (account_id, superseded_by) where superseded_by is not null;
create index facts_expiring on facts (expires_ms) where expires_ms is not null;

create table fact_sources (            -- other turns that stated the same fact
    account_id bigint not null references accounts (id),
    fact bigint not null,
    event bigint not null,
    primary key (account_id, fact, event)
);
create index fact_sources_event on fact_sources (account_id, event);
alter table fact_sources enable row level security, force row level security;
create policy of_account on fact_sources using (account_in_view() in (account_id, 0));

create table fact_keys (               -- derived from the texts of current facts: what each is about
    account_id bigint not null references accounts (id),
    space_id bigint not null,
    key text collate "C" not null,
    fact bigint not null,
    primary key (account_id, space_id, key, fact)
);
create index fact_keys_fact on fact_keys (account_id, fact);
alter table fact_keys enable row level security, force row level security;
create policy of_account on fact_keys using (account_in_view() in (account_id, 0));

create index layer_index_item on layer_index (account_id, item);
-- Made again in the background, with the keys of facts.
update layer_index set embedder = null where kind not in (1, 2);
