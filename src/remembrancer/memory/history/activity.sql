-- active_spaces: The users of an account that were active last, with the time of their latest turn, else of their latest fact; of the newest users only
select found.id, found.user_id, found.last_ms from (
    select spaces.id, spaces.user_id, coalesce((
        select coalesce(sessions.last_turn_ms, sessions.created_ms) from sessions
        where sessions.account_id = :account_id and sessions.space_id = spaces.id
        order by coalesce(sessions.last_turn_ms, sessions.created_ms) desc limit 1
    ), (
        select facts.created_ms from facts where facts.account_id = :account_id and facts.space_id = spaces.id order by facts.id desc limit 1
    )) as last_ms
    from (select id, user_id from spaces where account_id = :account_id and user_id >= :low and user_id < :high order by id desc limit :newest) as spaces
) as found
where found.last_ms is not null order by found.last_ms desc, found.id desc limit :most;

-- turns_by_day: Count the turns of a space on each day, of the latest turns only
select day, count(*) as turns from (
    select occurred_ms / 86400000 as day from events
    where account_id = :account_id and id >> 32 = :space_id
        and id >= (cast(:space_id as bigint) << 32) and id < ((cast(:space_id as bigint) + 1) << 32)  -- row-level security hides the first condition from PostgreSQL's planner
    order by occurred_ms desc, id desc limit :most
) as latest group by day order by day;

-- newest_facts: The facts of a space that were stored last, with the text of the one that each replaced
select facts.text, facts.created_ms, (
    select earlier.text from facts as earlier where earlier.account_id = :account_id and earlier.superseded_by = facts.id order by earlier.id desc limit 1
) as replaced
from facts where facts.account_id = :account_id and facts.space_id = :space_id order by facts.id desc limit :most;

-- latest_steps: The counted searches of an account in a period before a cursor, latest first
select steps.session, steps.step, steps.asked_ms, steps.hits, steps.cubes, steps.owed, steps.answerable, steps.ms, steps.characters, steps.got, steps.review, sessions.session_id, spaces.user_id, keys.label, keys.hint
from steps cross join sessions cross join spaces
left join keys on keys.account_id = :account_id and keys.id = steps.key_id
where steps.account_id = :account_id and steps.asked_ms >= :low
    and steps.asked_ms <= :before_ms  -- repeats the next line, from which SQLite derives no index range
    and (steps.asked_ms, steps.session) < (:before_ms, :before_id)
    and sessions.account_id = :account_id and sessions.id = steps.session
    and spaces.account_id = :account_id and spaces.id = sessions.space_id and spaces.user_id = coalesce(:user_id, spaces.user_id)
    and (cast(:missed as bigint) = 0 or (steps.answerable < 0.5 and steps.review = 0))
order by steps.asked_ms desc, steps.session desc limit :most;

-- one_step: A counted search by its session and step
select steps.session, steps.step, steps.asked_ms, steps.hits, steps.cubes, steps.owed, steps.answerable, steps.ms, steps.characters, steps.got, steps.review, sessions.session_id, spaces.user_id, keys.label, keys.hint
from spaces join sessions on sessions.account_id = :account_id and sessions.space_id = spaces.id and sessions.session_id = :session_id
join steps on steps.account_id = :account_id and steps.session = sessions.id and steps.step = :step
left join keys on keys.account_id = :account_id and keys.id = steps.key_id
where spaces.account_id = :account_id and spaces.user_id = :user_id;

-- turn_of_step: The turn that was remembered after a search
select event_id, topic, created_ms, response like '%(ref: e\_%' escape '\' as cites, substr(query, 1, cast(:characters as integer)) as query, substr(response, 1, cast(:characters as integer)) as response
from events where account_id = :account_id and session = :session and created_ms >= :low and created_ms < :high and step = :step and superseded_by is null
order by created_ms, id limit 1;

-- events_got: Events by id, a JSON array
select event_id, substr(query, 1, cast(:characters as integer)) as query, substr(response, 1, cast(:characters as integer)) as response
from events where account_id = :account_id and event_id in (select value from json_each(:event_ids));

-- review_step: Record what a person thinks of a search
update steps set review = :review where account_id = :account_id and session = :session and step = :step;

-- week_of_steps: Count the searches since a time: those that memory was asked, and those that it answered or a person since
select count(*) as searches, coalesce(sum(case when answerable >= 0.5 or review = 1 then 1 else 0 end), 0) as answered
from steps where account_id = :account_id and asked_ms >= :low and answerable is not null and review <> 2;
