-- open_place: Return a space and a session, with the columns of `begin_turn` that they have; create them if necessary
insert into spaces (account_id, user_id, created_ms) values (:account_id, :user_id, :now_ms) on conflict do nothing;
insert into sessions (account_id, space_id, session_id, created_ms)
select :account_id, id, :session_id, :now_ms from spaces where account_id = :account_id and user_id = :user_id on conflict do nothing;
select spaces.id as space_id, spaces.l1_count, spaces.l1_mapped, sessions.id, sessions.step, sessions.turns, sessions.turns_summarised
from spaces join sessions on sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
where spaces.account_id = :account_id and spaces.user_id = :user_id;

-- open_place [postgresql]: one statement; a failed insert would use up a space id
with found as materialized (
    select id, l1_count, l1_mapped from spaces where account_id = :account_id and user_id = :user_id
), made as (
    insert into spaces (account_id, user_id, created_ms)
    select :account_id, :user_id, :now_ms where not exists (select 1 from found)
    returning id, l1_count, l1_mapped
), space as materialized (
    select * from found union all select * from made
), place as (
    insert into sessions (account_id, space_id, session_id, created_ms)
    select :account_id, space.id, :session_id, :now_ms from space
    on conflict (account_id, space_id, session_id) do update set session_id = excluded.session_id
    returning id, step, turns, turns_summarised
)
select space.id as space_id, space.l1_count, space.l1_mapped, place.* from space cross join place;

-- begin_turn: Open the space and the session of a turn and count the turn, unless the same turn of the session's step was stored since :since_ms
insert into spaces (account_id, user_id, created_ms) values (:account_id, :user_id, :now_ms) on conflict do nothing;
insert into sessions (account_id, space_id, session_id, created_ms)
select :account_id, id, :session_id, :now_ms from spaces where account_id = :account_id and user_id = :user_id on conflict do nothing;
update spaces set events_made = events_made + 1 where account_id = :account_id and user_id = :user_id and not exists (
    select 1 from sessions join events on events.account_id = :account_id and events.session = sessions.id
    where sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
        and events.created_ms > :since_ms and events.query = :query and events.response = :response
        and events.superseded_by is null and coalesce(events.step, sessions.step) = sessions.step
        and (events.occurred_ms = :told_ms or (:told_ms is null and events.occurred_ms > :since_ms))
);
update sessions set
    turns = turns + 1, last_turn_ms = max(coalesce(last_turn_ms, :last_ms), :last_ms),
    remembered_step = case when :remembered = 1 then step else remembered_step end,
    turns_without_l1 = case when :remembered = 1 then turns_without_l1 + 1 else turns_without_l1 end,
    turns_without_cube = case when :remembered = 1 and step > 0 then turns_without_cube + 1 else turns_without_cube end
where changes() > 0 and account_id = :account_id and session_id = :session_id
    and space_id = (select id from spaces where account_id = :account_id and user_id = :user_id);
select spaces.id as space_id, spaces.l1_count, spaces.l1_mapped, case when changes() > 0 then spaces.events_made - 1 end as number,
    sessions.id, sessions.step, sessions.turns, sessions.turns_summarised,
    (
        select events.id from events where events.account_id = :account_id and events.twin = :twin
            and events.id >= spaces.id << 32 and events.id < (spaces.id + 1) << 32
            and events.superseded_by is null and events.withdrawn_by is null and (:in_session = 0 or events.session = sessions.id)
        order by events.id limit 1
    ) as original,
    :remembered = 1 and sessions.step > 0 and exists (
        select 1 from events where events.account_id = :account_id and events.session = sessions.id and events.step = sessions.step
            and events.query = :query and events.superseded_by is null
    ) as has_drafts,
    (select id from embedders where name = :derived_by) as embedder
from spaces join sessions on sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
where spaces.account_id = :account_id and spaces.user_id = :user_id;

-- begin_turn [postgresql]: one statement; a failed insert would use up a space id
with found as materialized (
    select id, l1_count, l1_mapped from spaces where account_id = :account_id and user_id = :user_id
), made as (
    insert into spaces (account_id, user_id, events_made, created_ms)
    select :account_id, :user_id, 1, :now_ms where not exists (select 1 from found)
    returning id, l1_count, l1_mapped
), space as materialized (
    select * from found union all select * from made
), known as materialized (
    select sessions.id, sessions.step, sessions.turns, sessions.turns_summarised from sessions join found on sessions.space_id = found.id
    where sessions.account_id = :account_id and sessions.session_id = :session_id
), same as materialized (
    select 1 from known join events on events.account_id = :account_id and events.session = known.id
    where events.created_ms > :since_ms and events.query = :query and events.response = :response
        and events.superseded_by is null and coalesce(events.step, known.step) = known.step
        and (events.occurred_ms = cast(:told_ms as bigint) or (cast(:told_ms as bigint) is null and events.occurred_ms > :since_ms))
    limit 1
), numbered as (
    update spaces set events_made = spaces.events_made + 1 from found
    where spaces.account_id = :account_id and spaces.id = found.id and not exists (select 1 from same)
    returning spaces.events_made - 1 as number
), counted as (
    insert into sessions (account_id, space_id, session_id, turns, last_turn_ms, created_ms)
    select :account_id, space.id, :session_id, 1, :last_ms, :now_ms
    from space where not exists (select 1 from same)
    on conflict (account_id, space_id, session_id) do update set
        turns = sessions.turns + 1, last_turn_ms = greatest(sessions.last_turn_ms, excluded.last_turn_ms),
        remembered_step = case when :remembered = 1 then sessions.step else sessions.remembered_step end,
        turns_without_l1 = case when :remembered = 1 then sessions.turns_without_l1 + 1 else sessions.turns_without_l1 end,
        turns_without_cube = case when :remembered = 1 and sessions.step > 0 then sessions.turns_without_cube + 1 else sessions.turns_without_cube end
    returning id, step, turns, turns_summarised
), place as (
    select * from counted union all select * from known where exists (select 1 from same)
)
select space.id as space_id, space.l1_count, space.l1_mapped,
    case when not exists (select 1 from same) then coalesce((select number from numbered), 0) end as number,
    place.id, place.step, place.turns, place.turns_summarised,
    (
        select events.id from events where events.account_id = :account_id and events.twin = cast(:twin as bigint)
            and events.id >= space.id << 32 and events.id < (space.id + 1) << 32
            and events.superseded_by is null and events.withdrawn_by is null and (:in_session = 0 or events.session = place.id)
        order by events.id limit 1
    ) as original,
    :remembered = 1 and place.step > 0 and exists (
        select 1 from events where events.account_id = :account_id and events.session = place.id and events.step = place.step
            and events.query = :query and events.superseded_by is null
    ) as has_drafts,
    (select id from embedders where name = :derived_by) as embedder
from space cross join place;

-- add_turn: Store the text of a turn, what it is about, and its index entry
insert into events (account_id, id, event_id, session, step, topic, query, response, flags, twin, repeats, occurred_ms, occurred_offset, created_ms, expires_ms, metadata, query_source, response_source)
values (:account_id, :id, :event_id, :session, :step, :topic, :query, :response, :flags, :twin, :repeats, :occurred_ms, :occurred_offset, :created_ms, :expires_ms, :metadata, :query_source, :response_source);
insert into event_keys (account_id, space_id, key, event)
select :account_id, :space_id, value, :id from json_each(:keys) where true on conflict do nothing;
insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
values (:account_id, :id, :session, :occurred_ms, :words, :embedder, :vectors);

-- add_turn [postgresql]: one statement
with event as (
    insert into events (account_id, id, event_id, session, step, topic, query, response, flags, twin, repeats, occurred_ms, occurred_offset, created_ms, expires_ms, metadata, query_source, response_source)
    values (:account_id, :id, :event_id, :session, :step, :topic, :query, :response, :flags, :twin, :repeats, :occurred_ms, :occurred_offset, :created_ms, :expires_ms, :metadata, :query_source, :response_source)
), about as (
    insert into event_keys (account_id, space_id, key, event)
    select :account_id, :space_id, value, :id from json_each(:keys) where true on conflict do nothing
)
insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
values (:account_id, :id, :session, :occurred_ms, :words, :embedder, :vectors);

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
