-- change_event: Change when a turn expires and whether it is pinned
update events set pinned = :pinned, expires_ms = :expires_ms where account_id = :account_id and id = :id;

-- event_state: What a change of a turn starts from
select expires_ms, pinned, withdrawn_by, superseded_by, occurred_ms from events where account_id = :account_id and id = :id;

-- due_times: When the first turn and the first fact of each account are due, and (as account 0) the first cube of all
select account_id, min(expires_ms) as due_ms from events where expires_ms < :before_ms group by account_id
union all
select account_id, min(expires_ms) as due_ms from facts where expires_ms < :before_ms and text <> '' group by account_id
union all
select cast(0 as bigint) as account_id, min(expires_ms) as due_ms from cubes where expires_ms < :before_ms having min(expires_ms) is not null;

-- expired_events: Turns of all accounts whose time is over
select account_id, id, event_id from events where expires_ms <= :now_ms order by expires_ms limit :most;

-- expired_events_of: Turns of an account whose time is over
select account_id, id, event_id from events where account_id = :account_id and expires_ms <= :now_ms order by expires_ms limit :most;

-- expired_cubes: Cubes of all accounts whose time is over
select account_id, id from cubes where expires_ms <= :now_ms order by expires_ms limit :most;

-- rules: The retention rules of an account
select user_id, days, events_max from retention where account_id = :account_id order by user_id;

-- all_rules: The retention rules of all accounts
select account_id, user_id, days, events_max from retention;

-- set_rule: Set a retention rule
insert into retention (account_id, user_id, days, events_max, set_ms) values (:account_id, :user_id, :days, :events_max, :now_ms)
on conflict (account_id, user_id) do update set days = excluded.days, events_max = excluded.events_max, set_ms = excluded.set_ms;

-- drop_rule: Remove a retention rule
delete from retention where account_id = :account_id and user_id = :user_id;

-- spaces_with_turns: The spaces of all accounts, or of one, that have turns
select account_id, id, user_id, events_made from spaces
where events_made > 0 and (cast(:only as bigint) is null or account_id = :only) order by account_id, id;

-- too_old: The oldest turns of a space that were stored before a time and are not pinned
select id, event_id from events
where account_id = :account_id and id >= :low and id < :high and created_ms < :before_ms and pinned = 0 order by id limit :most;

-- too_many: The oldest turns of a space beyond its newest ones that are not pinned
select id, event_id from (
    select id, event_id from events
    where account_id = :account_id and id >= :low and id < :high and pinned = 0 and superseded_by is null
    order by id desc limit -1 offset :keep
) as beyond order by id limit :most;

-- too_many [postgresql]: no limit is null there
select id, event_id from (
    select id, event_id from events
    where account_id = :account_id and id >= :low and id < :high and pinned = 0 and superseded_by is null
    order by id desc offset :keep
) as beyond order by id limit :most;

-- add_sweep: Record what a removal removed
insert into sweeps (account_id, user_id, reason, events, facts, summaries, cubes, swept_ms)
values (:account_id, :user_id, :reason, :events, :facts, :summaries, :cubes, :now_ms);

-- trim_sweeps: Keep the newest records of removals
delete from sweeps where account_id = :account_id and id <= (
    select id from sweeps where account_id = :account_id order by id desc limit 1 offset :most
);

-- sweeps: The newest removals of an account, or of one user
select user_id, reason, events, facts, summaries, cubes, swept_ms from sweeps
where account_id = :account_id and (cast(:user_id as text) is null or user_id = :user_id) order by id desc limit :most;

-- user_of_space: The user of a space
select user_id from spaces where account_id = :account_id and id = :space_id;
