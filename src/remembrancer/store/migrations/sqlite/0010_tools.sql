-- What the pages of the owner's tools need: grants found by their glob, passwords asked again, whose file it is and why, and what was done a day.

alter table grants add column glob text;                 -- a wider pattern than the scope, in the words of SQLite's GLOB; null = not known

drop index grants_in_force;
create index grants_in_force on grants (anchor, agent, expires_ms, glob) where revoked_ms is null;
create index grants_live on grants (expires_ms) where revoked_ms is null;

alter table browser_sessions add column confirmed_ms integer;  -- when the password was last typed; null = not in this session

alter table files add column key_id integer;             -- the key it was made with; 0 = a signed-in browser, or the machine itself
alter table files add column made_by text;               -- `file` or `program`; null = made before this was noted

create index files_account on files (account_id, id);

create table usage (                  -- what was done in a day; may lack the last minute before a crash
    day integer not null,             -- days since 1970, UTC
    account_id integer not null,      -- 0 = the service itself, for what is not known by account
    key_id integer not null,          -- 0 = a signed-in browser, or the machine itself
    kind text not null,
    count integer not null,
    primary key (day, account_id, key_id, kind)
) without rowid;
