-- turn_of_reply: Find the latest turn with this response in an account, or of one user (`cross join`: space by space, to skip other users' turns)
select events.id, events.event_id, events.session, events.occurred_ms, events.occurred_offset, sessions.session_id, sessions.space_id, spaces.user_id
from spaces cross join events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and events.reply = :reply and events.id >= spaces.id << 32 and events.id < (spaces.id + 1) << 32
    and spaces.account_id = :account_id and (cast(:user_id as text) is null or spaces.user_id = :user_id)
    and substr(events.response, 1, length(:draft)) = :draft
order by events.created_ms desc, events.id desc limit 1;

-- turn_of_reply [postgresql]: look up each turn's space by id instead of scanning all spaces of the account
select events.id, events.event_id, events.session, events.occurred_ms, events.occurred_offset, sessions.session_id, sessions.space_id, spaces.user_id
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where events.account_id = :account_id and events.reply = :reply and (cast(:user_id as text) is null or spaces.user_id = :user_id)
    and substr(events.response, 1, length(:draft)) = :draft
order by events.created_ms desc, events.id desc limit 1;

-- cited_event: Return an event that a draft cites, and the step at which the draft's session saw it
select events.id, events.event_id, events.topic, events.query, events.response, events.occurred_ms, events.occurred_offset, shown_events.step
from events left join shown_events on shown_events.account_id = :account_id and shown_events.event = events.id and shown_events.session = :session
where events.account_id = :account_id and events.event_id = :event_id and events.id >= :space_id << 32 and events.id < (:space_id + 1) << 32;

-- count_look: Count one second look at a turn and store its result
insert into looks (account_id, session, event, key_id, passed, failed, last_passed, looked_ms)
select account_id, session, id, :key_id, :passed, 1 - :passed, :passed, :now_ms from events where events.account_id = :account_id and id = :event
on conflict (session, event) do update set key_id = excluded.key_id, passed = looks.passed + excluded.passed,
    failed = looks.failed + excluded.failed, last_passed = excluded.last_passed, looked_ms = excluded.looked_ms;

-- count_look [postgresql]: the account leads every key
insert into looks (account_id, session, event, key_id, passed, failed, last_passed, looked_ms)
select account_id, session, id, :key_id, cast(:passed as bigint), 1 - cast(:passed as bigint), cast(:passed as bigint), :now_ms
from events where events.account_id = :account_id and id = :event
on conflict (account_id, session, event) do update set key_id = excluded.key_id, passed = looks.passed + excluded.passed,
    failed = looks.failed + excluded.failed, last_passed = excluded.last_passed, looked_ms = excluded.looked_ms;
