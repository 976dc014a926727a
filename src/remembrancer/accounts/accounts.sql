-- add_account: Create an account unless the name exists; the first account is the owner
insert into accounts (name, role, created_ms)
select :name, case when exists (select 1 from accounts) then 'member' else 'owner' end, :now_ms where true
on conflict (name) do nothing;

-- account_named: An account by its name; the space of a team has the role `team`
select id, name, case when exists (select 1 from teams where teams.account_id = accounts.id) then 'team' else role end as role from accounts where name = :name;

-- first_account: The oldest owner
select id, name, role from accounts where role = 'owner' order by id limit 1;

-- set_outside_models: Allow or forbid models on other machines for an account
update accounts set outside_models = :allowed where name = :name;

-- outside_models: Whether models on other machines are allowed
select outside_models from accounts where id = :account_id;

-- accounts: Every account, oldest first, with its number of valid keys
select accounts.id, accounts.name, case when exists (select 1 from teams where teams.account_id = accounts.id) then 'team' else accounts.role end as role,
    accounts.created_ms, count(keys.id) as keys
from accounts
left join keys on keys.account_id = accounts.id and keys.revoked_ms is null and (keys.expires_ms is null or keys.expires_ms > :now_ms)
group by accounts.id, accounts.name, accounts.role, accounts.created_ms
order by accounts.id;

-- add_key: Store a new key's digest and properties; the key itself is never stored
insert into keys (account_id, digest, hint, label, user_id, read_only, protocol, created_ms, expires_ms)
values (:account_id, :digest, :hint, :label, :user_id, :read_only, :protocol, :now_ms, :expires_ms)
returning id;

-- keys: Every key of an account, or of all accounts if :account is null, oldest first
select keys.id, accounts.name as account, keys.hint, keys.label, keys.user_id, keys.read_only,
       keys.created_ms, keys.expires_ms, keys.revoked_ms, keys.last_used_ms, keys.protocol
from keys join accounts on accounts.id = keys.account_id
where accounts.name = coalesce(:account, accounts.name)
order by keys.id;

-- key_of_digest: A key and its account, valid or not
select keys.id, keys.digest, keys.user_id, keys.read_only, keys.protocol, keys.expires_ms, keys.revoked_ms, keys.last_used_ms,
       accounts.id as account_id, accounts.name as account, accounts.role
from keys join accounts on accounts.id = keys.account_id
where keys.digest = :digest;

-- revoke_key: Revoke a key
update keys set revoked_ms = :now_ms where id = :key_id and revoked_ms is null;

-- revoke_own_key: Revoke a key of an account
update keys set revoked_ms = :now_ms where id = :key_id and account_id = :account_id and revoked_ms is null;

-- relabel_own_key: Change the label of an account's key
update keys set label = :label where id = :key_id and account_id = :account_id;

-- note_use: Record the use of a key, at most once a minute
update keys set last_used_ms = :now_ms where id = :key_id and (last_used_ms is null or last_used_ms <= :noted_before_ms);

-- user_of: The user_id that a key last named with a session, and the one before
select user_id, named_ms, other_user_id, other_ms from session_users where account_id = :account_id and key_id = :key_id and session_id = :session_id;

-- name_user: Record the user_id that a key names with a session
insert into session_users (account_id, key_id, session_id, user_id, named_ms) values (:account_id, :key_id, :session_id, :user_id, :now_ms)
on conflict (key_id, session_id) do update set
    other_user_id = case when session_users.user_id = excluded.user_id then session_users.other_user_id else session_users.user_id end,
    other_ms = case when session_users.user_id = excluded.user_id then session_users.other_ms else session_users.named_ms end,
    user_id = excluded.user_id, named_ms = excluded.named_ms
returning other_user_id, other_ms;

-- name_user [postgresql]: the account leads every key
insert into session_users (account_id, key_id, session_id, user_id, named_ms) values (:account_id, :key_id, :session_id, :user_id, :now_ms)
on conflict (account_id, key_id, session_id) do update set
    other_user_id = case when session_users.user_id = excluded.user_id then session_users.other_user_id else session_users.user_id end,
    other_ms = case when session_users.user_id = excluded.user_id then session_users.other_ms else session_users.named_ms end,
    user_id = excluded.user_id, named_ms = excluded.named_ms
returning other_user_id, other_ms;

-- delete_users: Delete what names a user, or all users of an account, with a session or with any
delete from session_users where account_id = :account_id and (cast(:user_id as text) is null or :user_id in (user_id, other_user_id))
    and (cast(:session_id as text) is null or session_id = :session_id);
