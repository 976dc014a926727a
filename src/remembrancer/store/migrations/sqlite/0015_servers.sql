-- What servers that share a store must have in common: a secret to sign with, and how often somebody called.

create table secrets (
    name text primary key,
    secret blob not null,
    created_ms integer not null
) without rowid;

-- When a caller has its whole allowance back. Several servers count here; the one of an SQLite file counts in its memory.
create table rates (
    kind text not null,
    who text not null,
    free_us integer not null,
    primary key (kind, who)
) without rowid;
