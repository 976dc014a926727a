-- user_of: The user_id that a key last named with a session, and the one before
select user_id, named_ms, other_user_id, other_ms from session_users where account_id = :account_id and key_id = :key_id and session_id = :session_id;

-- name_user: Record the user_id that a key names with a session
insert into session_users (account_id, key_id, session_id, user_id, named_ms) values (:account_id, :key_id, :session_id, :user_id, :now_ms)
on conflict (key_id, session_id) do update set
    other_user_id = case when session_users.user_id = excluded.user_id then session_users.other_user_id else session_users.user_id end,
    other_ms = case when session_users.user_id = excluded.user_id then session_users.other_ms else session_users.named_ms end,
    user_id = excluded.user_id, named_ms = excluded.named_ms;

-- name_user [postgresql]: the account leads every key
insert into session_users (account_id, key_id, session_id, user_id, named_ms) values (:account_id, :key_id, :session_id, :user_id, :now_ms)
on conflict (account_id, key_id, session_id) do update set
    other_user_id = case when session_users.user_id = excluded.user_id then session_users.other_user_id else session_users.user_id end,
    other_ms = case when session_users.user_id = excluded.user_id then session_users.other_ms else session_users.named_ms end,
    user_id = excluded.user_id, named_ms = excluded.named_ms;

-- delete_users: Delete what names a user, or all users of an account
delete from session_users where account_id = :account_id and (cast(:user_id as text) is null or :user_id in (user_id, other_user_id));
