-- turn_of_reply: The latest turn of an account, or of one user of it, that answered so (`cross`: user by user, past the turns of others)
select events.id, events.event_id, events.session, events.occurred_ms, sessions.session_id, sessions.space_id
from spaces cross join events join sessions on sessions.account_id = :account_id and sessions.id = events.session
where events.account_id = :account_id and events.reply = :reply and events.id >= spaces.id << 32 and events.id < (spaces.id + 1) << 32
    and spaces.account_id = :account_id and (cast(:user_id as text) is null or spaces.user_id = :user_id)
    and substr(events.response, 1, length(:draft)) = :draft
order by events.created_ms desc, events.id desc limit 1;

-- turn_of_reply [postgresql]: each turn's space by its number, where it would go through all spaces of the account
select events.id, events.event_id, events.session, events.occurred_ms, sessions.session_id, sessions.space_id
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where events.account_id = :account_id and events.reply = :reply and (cast(:user_id as text) is null or spaces.user_id = :user_id)
    and substr(events.response, 1, length(:draft)) = :draft
order by events.created_ms desc, events.id desc limit 1;

-- cited: An event of a space that a draft cites, and whether a search of the draft's session returned it
select events.id, events.event_id, events.topic, events.query, events.response, events.occurred_ms, shown_events.step
from events left join shown_events on shown_events.account_id = :account_id and shown_events.event = events.id and shown_events.session = :session
where events.account_id = :account_id and events.event_id = :event_id and events.id >= :space_id << 32 and events.id < (:space_id + 1) << 32;

-- count_look: Count one more look at a turn, and keep how it went
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
