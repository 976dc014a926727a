-- The turn that opened a session's task, and the tasks that a session has been shown.

alter table sessions add column open_task text collate "C";
alter table sessions add column tasks_shown text not null default '';
set local remembrancer.account_id = '0';  -- row security: of all accounts
update sessions set open_task = (
    select event_id from events where events.account_id = sessions.account_id and events.session = sessions.id
    order by events.created_ms, events.id limit 1
) where task_open = 1;
drop index sessions_open;
alter table sessions drop column task_open;
create index sessions_open on sessions (account_id, space_id, last_turn_ms) where open_task is not null;

-- What is due is read before requests: erased facts, which keep their time, are no part of it.
drop index facts_expiring;
create index facts_expiring on facts (expires_ms) where expires_ms is not null and text <> '';
