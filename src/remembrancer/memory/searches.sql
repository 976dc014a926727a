-- search_space: The space of a search and the newest cubes that the user may see; of its session the state, null if there is none, and with :counts = 1 what is due there: whether its latest reply cites events and had no second look, and the unrated cubes
with newest as materialized (
    select cast(:counts as bigint) as counts,  -- here, so that PostgreSQL plans alike for both values, and once
        (select revision from cube_revision) as cube_revision,
        (select max(id) from cubes where status <> 'private' and merged_into is null) as shared_cube,
        (select max(id) from cubes where account_id = :account_id and status = 'private' and for_account = 1 and merged_into is null) as account_cube,
        (select max(id) from cubes where account_id = :account_id and status = 'private' and user_id = :user_id and for_account = 0 and merged_into is null) as own_cube
)
select spaces.id, spaces.events_made, spaces.revision, spaces.layers_made, spaces.l1_count, spaces.l1_mapped,
    newest.cube_revision, newest.shared_cube, newest.account_cube, newest.own_cube,
    (
        select newer from event_changes where event_changes.account_id = :account_id and event_changes.space_id = spaces.id
        order by newer desc limit 1
    ) as newest_change,
    exists (
        select 1 from sessions as other where other.account_id = :account_id and other.space_id = spaces.id and other.open_task is not null
    ) as has_open_task,
    exists (
        select 1 from ratings where ratings.account_id = :account_id and ratings.user_id = :user_id and ratings.vote = -1
    ) as has_rejected,
    sessions.id as session, sessions.step, sessions.remembered_step, sessions.turns, sessions.turns_summarised, sessions.cube_turn, sessions.turns_without_l1, sessions.turns_without_cube, sessions.tasks_shown,
    case when newest.counts = 1 and sessions.turns > 0 then (
        select latest.step > 0 and (latest.response like '%(ref: e\_%' escape '\' or latest.response like '%（ref%e\_%' escape '\') and not exists (
            select 1 from looks where looks.account_id = :account_id and looks.session = sessions.id and looks.event = latest.id
        )
        from events as latest where latest.account_id = :account_id and latest.session = sessions.id
        order by latest.created_ms desc, latest.id desc limit 1
    ) end as is_look_due,
    case when newest.counts = 1 and sessions.step > 0 then (
        select string_agg(cubes.cube_id, ',' order by shown_cubes.step, shown_cubes.cube)
        from shown_cubes join cubes on cubes.id = shown_cubes.cube
        left join ratings on ratings.cube = shown_cubes.cube and ratings.account_id = :account_id and ratings.user_id = :user_id
        where shown_cubes.account_id = :account_id and shown_cubes.session = sessions.id and ratings.cube is null
            and shown_cubes.step <= sessions.step  -- which holds for all, and lets SQLite use the index of the session
            and shown_cubes.is_new = 1
    ) end as unrated
from newest cross join spaces
left join sessions on sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
where spaces.account_id = :account_id and spaces.user_id = :user_id;

-- count_search: Count one more search of a session, creating it if necessary; record its hits, the duties open at that time and, with :names = 1, its user
insert into spaces (account_id, user_id, created_ms) values (:account_id, :user_id, :now_ms) on conflict do nothing;
insert into sessions (account_id, space_id, session_id, step, created_ms)
select :account_id, id, :session_id, 1, :now_ms from spaces where account_id = :account_id and user_id = :user_id
on conflict (space_id, session_id) do update set step = sessions.step + 1;
insert into steps (account_id, session, step, asked_ms, hits, cubes, owed, key_id, answerable, ms, characters, got)
select :account_id, sessions.id, sessions.step, :now_ms, :hits, :cubes, :owed, :key_id, :answerable, :ms, :characters, :got
from spaces cross join sessions
where spaces.account_id = :account_id and spaces.user_id = :user_id
    and sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
on conflict do nothing;
insert into shown_events (account_id, session, event, step)
select :account_id, sessions.id, events.id, sessions.step
from spaces cross join sessions cross join events
where spaces.account_id = :account_id and spaces.user_id = :user_id
    and sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
    and events.account_id = :account_id and events.event_id in (select value from json_each(:event_ids))
on conflict do nothing;
insert into session_users (account_id, key_id, session_id, user_id, named_ms)
select :account_id, :key_id, :session_id, :user_id, :now_ms where :names = 1
on conflict (key_id, session_id) do update set
    other_user_id = case when session_users.user_id = excluded.user_id then session_users.other_user_id else session_users.user_id end,
    other_ms = case when session_users.user_id = excluded.user_id then session_users.other_ms else session_users.named_ms end,
    user_id = excluded.user_id, named_ms = excluded.named_ms;
select sessions.id as session, sessions.step, exists (
    select 1 from shown_cubes where shown_cubes.account_id = :account_id and shown_cubes.session = sessions.id
        and shown_cubes.step < sessions.step and shown_cubes.settled_ms is null
) as is_unsettled, session_users.other_user_id, session_users.other_ms
from spaces cross join sessions
left join session_users on :names = 1 and session_users.account_id = :account_id and session_users.key_id = :key_id and session_users.session_id = :session_id
where spaces.account_id = :account_id and spaces.user_id = :user_id
    and sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id;

-- count_search [postgresql]: one statement; a failed insert would use up a space id
with request as materialized (
    select cast(:names as bigint) as names  -- here, so that PostgreSQL plans alike for both values, and once
), found as materialized (
    select id from spaces where account_id = :account_id and user_id = :user_id
), made as (
    insert into spaces (account_id, user_id, created_ms)
    select :account_id, :user_id, :now_ms where not exists (select 1 from found)
    returning id
), space as materialized (
    select id from found union all select id from made
), counted as (
    insert into sessions (account_id, space_id, session_id, step, created_ms)
    select :account_id, space.id, :session_id, 1, :now_ms from space
    on conflict (account_id, space_id, session_id) do update set step = sessions.step + 1
    returning id, step
), noted as (
    insert into steps (account_id, session, step, asked_ms, hits, cubes, owed, key_id, answerable, ms, characters, got)
    select :account_id, counted.id, counted.step, :now_ms, :hits, :cubes, :owed, :key_id, :answerable, :ms, :characters, :got from counted
    on conflict do nothing
), shown as (
    insert into shown_events (account_id, session, event, step)
    select :account_id, counted.id, events.id, counted.step
    from counted cross join events
    where events.account_id = :account_id and events.event_id = any (array(select value from json_each(:event_ids)))
    on conflict do nothing
), named as (
    insert into session_users (account_id, key_id, session_id, user_id, named_ms)
    select :account_id, :key_id, :session_id, :user_id, :now_ms from request where request.names = 1
    on conflict (account_id, key_id, session_id) do update set
        other_user_id = case when session_users.user_id = excluded.user_id then session_users.other_user_id else session_users.user_id end,
        other_ms = case when session_users.user_id = excluded.user_id then session_users.other_ms else session_users.named_ms end,
        user_id = excluded.user_id, named_ms = excluded.named_ms
    returning other_user_id, other_ms
)
select counted.id as session, counted.step, exists (
    select 1 from shown_cubes where shown_cubes.account_id = :account_id and shown_cubes.session = counted.id
        and shown_cubes.step < counted.step and shown_cubes.settled_ms is null
) as is_unsettled, named.other_user_id, named.other_ms
from counted left join named on true;

-- unmapped: The L1s of a space that are not in its map, oldest first, with the map
select summaries.l1_id, sessions.session_id, summaries.text,
    (select maps.text from maps where maps.account_id = :account_id and maps.space_id = :space_id and maps.made_by <> 'note' order by maps.version desc limit 1) as map_text
from summaries join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
where summaries.account_id = :account_id and summaries.space_id = :space_id
order by summaries.id limit 1000000 offset :mapped;

-- set_owed: Replace the duties that were open at a step
update steps set owed = :owed where account_id = :account_id and session = :session and step = :step;
