-- The turn that opened a session's task, and the tasks that a session has been shown.

alter table sessions add column open_task text;                        -- its event_id; null: no task is open
alter table sessions add column tasks_shown text not null default '';  -- event_ids after commas, one for each time
update sessions set open_task = (
    select event_id from events where events.session = sessions.id order by events.created_ms, events.id limit 1
) where task_open = 1;
drop index sessions_open;
alter table sessions drop column task_open;
create index sessions_open on sessions (account_id, space_id, last_turn_ms) where open_task is not null;

-- What is due is read before requests: erased facts, which keep their time, are no part of it.
drop index facts_expiring;
create index facts_expiring on facts (expires_ms) where expires_ms is not null and text <> '';
