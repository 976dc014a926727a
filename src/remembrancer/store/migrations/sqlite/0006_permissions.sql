-- What agents may do to system files, and the audit trail of it, to which entries are added and nothing else is ever done.

create table grants (
    id integer primary key,
    grant_id text not null unique,
    scope text not null,              -- in normal form
    anchor text not null,             -- its fixed beginning, by which it is found
    actions text not null,            -- in words with commas between
    agent text not null,              -- `*` = every agent
    key_id integer not null,          -- it was given with
    granted_ms integer not null,
    expires_ms integer not null,
    revoked_ms integer
);

create index grants_in_force on grants (anchor, expires_ms) where revoked_ms is null;

create table allowed_checks (         -- what was allowed and so may be logged; the newest check of each
    grant_id text not null references grants (grant_id),
    account_id integer not null,
    action text not null,
    path text not null,
    agent text not null,
    seq integer not null,             -- audit.seq
    primary key (grant_id, account_id, action, path)
) without rowid;

create table audit (
    seq integer primary key,          -- 1, 2, 3 and so on
    entry text not null,              -- canonical JSON, with the hash of the entry before
    hash text not null                -- SHA-256 of `entry` in hex
);

create table audit_head (             -- one row: the newest entry, so that it shows when the last ones are gone
    seq integer not null,
    hash text not null
);

insert into audit_head (seq, hash) values (0, '0000000000000000000000000000000000000000000000000000000000000000');

create trigger audit_in_order before insert on audit
when new.seq is not (select seq + 1 from audit_head)
begin
    select raise(abort, 'an entry of the audit trail has the number after the newest one');
end;

create trigger audit_moves_head after insert on audit
begin
    update audit_head set seq = new.seq, hash = new.hash;
end;

create trigger audit_stays before update on audit
begin
    select raise(abort, 'an entry of the audit trail is never changed');
end;

create trigger audit_is_kept before delete on audit
begin
    select raise(abort, 'an entry of the audit trail is never removed');
end;

create trigger audit_head_goes_on before update on audit_head
when new.seq is not old.seq + 1
begin
    select raise(abort, 'the head of the audit trail goes on by one');
end;

create trigger audit_head_is_kept before delete on audit_head
begin
    select raise(abort, 'the head of the audit trail is never removed');
end;
