-- note_shown: Record that a session was shown cubes, a JSON array of objects
insert into shown_cubes (account_id, session, cube, step, shown_ms, is_new)
select :account_id, :session, cubes.id, :step, :now_ms, cast(json_extract(one.value, '$.is_new') as bigint)
from json_each(:cubes) as one join cubes on cubes.cube_id = json_extract(one.value, '$.cube_id') where true
on conflict do nothing;

-- unsettled: The cubes that a session was shown before a step and whose outcome is not decided, by step
select shown_cubes.cube, shown_cubes.step, cubes.cube_id, cubes.rules, ratings.vote
from shown_cubes join cubes on cubes.id = shown_cubes.cube
join sessions on sessions.account_id = :account_id and sessions.id = shown_cubes.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
left join ratings on ratings.cube = shown_cubes.cube and ratings.account_id = :account_id and ratings.user_id = spaces.user_id
where shown_cubes.account_id = :account_id and shown_cubes.session = :session and shown_cubes.step < :before_step and shown_cubes.settled_ms is null
order by shown_cubes.step, shown_cubes.cube;

-- ended: Sessions of all accounts that were shown cubes before a time whose outcome is not decided, with the last such step
select account_id, session, max(step) as step from shown_cubes where settled_ms is null and shown_ms < :shown_before
group by account_id, session limit :most;

-- turns_of_step: The turns of a step that were not superseded, their beginnings, with the result of their last second look
select substr(events.query, 1, cast(:most as integer)) as query, substr(events.response, 1, cast(:most as integer)) as response, looks.last_passed
from events left join looks on looks.account_id = :account_id and looks.session = events.session and looks.event = events.id
where events.account_id = :account_id and events.session = :session and events.step = :step and events.superseded_by is null
order by events.id;

-- runs_of_step: The program runs between a step and the next one, their beginnings, oldest first
select substr(events.query, 1, cast(:most as integer)) as query, substr(events.response, 1, cast(:most as integer)) as response
from steps left join steps as after on after.account_id = :account_id and after.session = steps.session and after.step = steps.step + 1
join events on events.account_id = :account_id and events.session = steps.session and events.topic = 'program run'
    and events.created_ms >= steps.asked_ms and events.created_ms < coalesce(after.asked_ms, 9223372036854775807)
where steps.account_id = :account_id and steps.session = :session and steps.step = :step
order by events.id;

-- settle: Store the use and the outcome of a cube that a session was shown
update shown_cubes set used = :used, outcome = cast(:outcome as integer), signals = :signals, settled_ms = :now_ms
where account_id = :account_id and session = :session and cube = :cube;
