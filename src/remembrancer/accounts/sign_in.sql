-- password_of: The password hash of an account, by its name
select accounts.id, passwords.hash from accounts join passwords on passwords.account_id = accounts.id where accounts.name = :name;

-- set_password: Set the password hash of an account
insert into passwords (account_id, hash, changed_ms) values (:account_id, :hash, :now_ms)
on conflict (account_id) do update set hash = excluded.hash, changed_ms = excluded.changed_ms;

-- failures_of: The number of consecutive failed sign-ins under a name
select failures, last_ms from sign_in_failures where digest = :digest;

-- note_failure: Count a failed sign-in
insert into sign_in_failures (digest, failures, last_ms) values (:digest, 1, :now_ms)
on conflict (digest) do update set failures = sign_in_failures.failures + 1, last_ms = excluded.last_ms;

-- delete_failures: Reset the failures of a name after a successful sign-in
delete from sign_in_failures where digest = :digest;

-- delete_old_failures: Delete failures that no longer delay a sign-in
delete from sign_in_failures where last_ms <= :before_ms;

-- add_session: Start a browser session
insert into browser_sessions (digest, account_id, created_ms, used_ms, confirmed_ms) values (:digest, :account_id, :now_ms, :now_ms, :now_ms);

-- confirm_session: Record that the password was entered in a session
update browser_sessions set confirmed_ms = :now_ms where digest = :digest;

-- name_browser: Set the browser name of a session
update browser_sessions set browser = :browser where digest = :digest;

-- sessions_of: The browser sessions of an account, most recently used first
select digest, browser, created_ms, used_ms from browser_sessions
where account_id = :account_id and created_ms > :created_after_ms and created_ms <= :now_ms + 60000 and used_ms > :used_after_ms
order by used_ms desc, created_ms desc;

-- session_of: The account of a valid browser session; none is valid a minute before it was made, or a clock that went back would prolong it
select accounts.id, accounts.name, accounts.role, browser_sessions.used_ms, browser_sessions.confirmed_ms
from browser_sessions join accounts on accounts.id = browser_sessions.account_id
where browser_sessions.digest = :digest and browser_sessions.created_ms > :created_after_ms and browser_sessions.created_ms <= :now_ms + 60000 and browser_sessions.used_ms > :used_after_ms;

-- note_session_use: Record the use of a session
update browser_sessions set used_ms = :now_ms where digest = :digest;

-- end_session: Delete a browser session
delete from browser_sessions where digest = :digest;

-- end_sessions: Delete all browser sessions of an account
delete from browser_sessions where account_id = :account_id;

-- end_old_sessions: Delete expired browser sessions
delete from browser_sessions where created_ms <= :created_before_ms or used_ms <= :used_before_ms;

-- delete_invitations: Delete the invitations of an account, and all expired ones
delete from invitations where account_id = :account_id or expires_ms <= :now_ms;

-- add_invitation: Store an invitation
insert into invitations (digest, account_id, expires_ms) values (:digest, :account_id, :expires_ms);

-- invitation_of: The account of a valid invitation
select accounts.id, accounts.name from invitations join accounts on accounts.id = invitations.account_id
where invitations.digest = :digest and invitations.expires_ms > :now_ms;
