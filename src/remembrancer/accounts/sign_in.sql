-- password_of: the hash of an account's password, by the account's name
select accounts.id, passwords.hash from accounts join passwords on passwords.account_id = accounts.id where accounts.name = :name;

-- set_password: the password of an account, in place of the one before
insert into passwords (account_id, hash, changed_ms) values (:account_id, :hash, :now_ms)
on conflict (account_id) do update set hash = excluded.hash, changed_ms = excluded.changed_ms;

-- failures_of: how often in a row a sign-in under a name failed
select failures, last_ms from sign_in_failures where digest = :digest;

-- note_failure: once more
insert into sign_in_failures (digest, failures, last_ms) values (:digest, 1, :now_ms)
on conflict (digest) do update set failures = sign_in_failures.failures + 1, last_ms = excluded.last_ms;

-- forget_failures: a sign-in worked
delete from sign_in_failures where digest = :digest;

-- forget_old_failures: those that nobody waits for any more
delete from sign_in_failures where last_ms <= :before_ms;

-- add_session: a browser is signed in
insert into browser_sessions (digest, account_id, created_ms, used_ms, confirmed_ms) values (:digest, :account_id, :now_ms, :now_ms, :now_ms);

-- confirm_session: the password was typed in this session now
update browser_sessions set confirmed_ms = :now_ms where digest = :digest;

-- name_browser: what a session's browser calls itself
update browser_sessions set browser = :browser where digest = :digest;

-- sessions_of: the browsers that are signed in to an account, the latest used first
select digest, browser, created_ms, used_ms from browser_sessions
where account_id = :account_id and created_ms > :created_after_ms and used_ms > :used_after_ms
order by used_ms desc, created_ms desc;

-- session_of: whose browser it is, while it is signed in
select accounts.id, accounts.name, accounts.role, browser_sessions.used_ms, browser_sessions.confirmed_ms
from browser_sessions join accounts on accounts.id = browser_sessions.account_id
where browser_sessions.digest = :digest and browser_sessions.created_ms > :created_after_ms and browser_sessions.used_ms > :used_after_ms;

-- note_session_use: it was used now
update browser_sessions set used_ms = :now_ms where digest = :digest;

-- end_session: one browser is signed out
delete from browser_sessions where digest = :digest;

-- end_sessions: every browser of an account is signed out
delete from browser_sessions where account_id = :account_id;

-- end_old_sessions: those that ended by themselves
delete from browser_sessions where created_ms <= :created_before_ms or used_ms <= :used_before_ms;

-- drop_invitations: links for an account that were not used
delete from invitations where account_id = :account_id or expires_ms <= :now_ms;

-- add_invitation: a link that sets the password of an account
insert into invitations (digest, account_id, expires_ms) values (:digest, :account_id, :expires_ms);

-- invitation_of: whom a link is for, while it works
select accounts.id, accounts.name from invitations join accounts on accounts.id = invitations.account_id
where invitations.digest = :digest and invitations.expires_ms > :now_ms;
