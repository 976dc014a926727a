-- prompt_of: The user's own part of the agent prompt
select text, updated_ms from prompts where account_id = :account_id and user_id = :user_id;

-- set_prompt: Set the user's own part
insert into prompts (account_id, user_id, text, updated_ms) values (:account_id, :user_id, :text, :now_ms)
on conflict (account_id, user_id) do update set text = excluded.text, updated_ms = excluded.updated_ms;

-- delete_prompt: Delete the user's own part
delete from prompts where account_id = :account_id and user_id = :user_id;

-- delete_prompts: Delete the own part of a user, or of all users of an account
delete from prompts where account_id = :account_id and user_id = coalesce(:user_id, user_id);
