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

-- own_texts: The message of a turn, then the newest texts of its session that tools gave
select text from (
    select events.query as text, 0 as place, events.id from events where events.account_id = :account_id and events.id = :event
    union all
    select case when events.response_source = 2 then events.response else events.query end as text, 1 as place, events.id
    from events where events.account_id = :account_id and events.session = :session and events.id <> :event
        and (events.response_source = 2 or events.query_source = 2)
) as own where own.text <> '' order by own.place, own.id desc limit :most;
