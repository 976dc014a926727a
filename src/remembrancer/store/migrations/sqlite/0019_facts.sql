-- Facts have a life: they hold for a time, are superseded, expire, are pinned and removed. Equal ones are one while they hold.
create table facts_with_life (
    account_id integer not null,
    id integer primary key,
    fact_id text not null,
    space_id integer not null references spaces (id),
    session integer references sessions (id),  -- null: added without a session
    event integer,                     -- the turn it first came with
    text text not null,                -- '' once it is erased
    kind integer not null default 0,   -- 0 a fact, 1 a standing instruction, 2 a preference
    condition text,                    -- of an instruction: when it applies; null: always
    origin integer not null default 0, -- 0 stated as a fact, 1 recognised in a turn
    status integer not null default 0, -- 0 current, 1 superseded, 2 expired, 3 removed
    pinned integer not null default 0,
    valid_from_ms integer not null,
    valid_to_ms integer,
    expires_ms integer,                -- its text is erased then
    superseded_by integer,             -- id of the fact that took its place
    key_id integer,                    -- that stored it; null: not known
    uses integer not null default 0,   -- searches whose answers showed it
    used_ms integer,
    created_ms integer not null
);
insert into facts_with_life (account_id, id, fact_id, space_id, session, event, text, valid_from_ms, created_ms)
select facts.account_id, facts.id, facts.fact_id, facts.space_id, facts.session, facts.event, facts.text,
    coalesce((select events.occurred_ms from events where events.id = facts.event), facts.created_ms), facts.created_ms
from facts;
drop table facts;
alter table facts_with_life rename to facts;
create unique index facts_once on facts (space_id, text) where status = 0;
create unique index facts_fact_id on facts (account_id, fact_id);
create index facts_space on facts (space_id, id);
create index facts_used on facts (space_id, uses) where uses > 0;
create index facts_pinned on facts (space_id) where pinned = 1;
create index facts_wishes on facts (space_id, id) where kind > 0 and status = 0;
create index facts_event on facts (event);
create index facts_session on facts (session);
create index facts_alone on facts (session) where event is null;
create index facts_successor on facts (superseded_by) where superseded_by is not null;
create index facts_expiring on facts (expires_ms) where expires_ms is not null;

create table fact_sources (            -- other turns that stated the same fact
    account_id integer not null,
    fact integer not null,
    event integer not null,
    primary key (fact, event)
) without rowid;
create index fact_sources_event on fact_sources (event);

create table fact_keys (               -- derived from the texts of current facts: what each is about
    account_id integer not null,
    space_id integer not null,
    key text not null,
    fact integer not null,
    primary key (space_id, key, fact)
) without rowid;
create index fact_keys_fact on fact_keys (fact);

create index layer_index_item on layer_index (item);
-- Made again in the background, with the keys of facts.
update layer_index set embedder = null where kind not in (1, 2);
