-- What the database needs to search large spaces by itself: derived from event_index, and can be built anew at any time.
--
-- These tables stay outside row security: under it PostgreSQL uses no index for operators such as `@>` and `<=>`. They hold no text, every
-- query names the account and the space, and what is found leads nowhere without `events`, which is under it.
-- The vectors have a table of their own, made when the extension `vector` is there: store/postgresql_schema.py.

create table search_spaces (
    account_id bigint not null references accounts (id),
    space_id bigint not null,
    embedder bigint not null references embedders (id),
    filled_to bigint not null default 0,       -- events below this number are in; later ones are read from their rows
    is_linked bigint not null default 0,       -- 1: the vectors of the space have an index
    events bigint not null default 0,
    parts bigint not null default 0,
    words bigint not null default 0,           -- sum of the lengths of the parts
    logs double precision not null default 0,  -- sums of log(1 + length) and of its square
    squares double precision not null default 0,
    languages bytea not null default '',       -- parts by language, 8 bytes each
    speakers bytea not null default '',        -- terms of the names of all who spoke, 4 bytes each
    primary key (account_id, space_id),
    foreign key (account_id, space_id) references spaces (account_id, id)
);

create table search_words (
    account_id bigint not null,
    space_id bigint not null,
    number bigint not null,                    -- of the event within the space
    part bigint not null,
    session bigint not null,
    occurred_ms bigint not null,
    length bigint not null,
    terms bigint[] not null,                   -- the space's id, then 32 bits of the term: so that each space has its own in the index
    primary key (account_id, space_id, number, part)
);

create index search_words_terms on search_words using gin (terms) with (fastupdate = off);
create index search_words_session on search_words (account_id, session, number) where part = 0;

create table search_terms (                    -- in how many parts of a space a term is
    account_id bigint not null,
    space_id bigint not null,
    term bigint not null,
    parts bigint not null,
    primary key (account_id, space_id, term)
);
