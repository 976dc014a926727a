-- What servers that share a store must have in common: a secret to sign with, and how often somebody called.

create table secrets (
    name text collate "C" primary key,
    secret bytea not null,
    created_ms bigint not null
);

-- Not in the log: counting waits for no disk. A crash of the database gives everybody a whole allowance.
create unlogged table rates (
    kind text collate "C" not null,
    who text collate "C" not null,
    free_us bigint not null,
    primary key (kind, who)
);
