-- steps_since: Count searches per session and key, turns due and remembered after them, and replies due and sealed
select spaces.account_id, spaces.user_id, sessions.session_id, steps.session, steps.key_id, max(steps.asked_ms) as last_ms, count(*) as searches,
    sum(case when after.step is null and sessions.remembered_step >= steps.step then 1
        when after.step is not null and instr(after.owed, 'turnless') = 0 then 1 else 0 end) as turns_due,
    sum(case
        when after.step is null and sessions.remembered_step >= steps.step then 1
        when after.step is not null and instr(after.owed, 'turnless') = 0 and instr(after.owed, 'turn_not_remembered') = 0 then 1 else 0 end) as remembered,
    sum(case when after.step is not null and instr(after.owed, 'turnless') > 0 then 1 else 0 end) as turnless,
    sum(case when after.step is not null and instr(after.owed, 'sealless') = 0 then 1 else 0 end) as seals_due,
    sum(case when after.step is not null and instr(after.owed, 'sealless') = 0 and instr(after.owed, 'seal_') = 0 then 1 else 0 end) as sealed
from steps cross join sessions cross join spaces
left join steps as after on after.account_id = steps.account_id and after.session = steps.session and after.step = steps.step + 1
where sessions.account_id = steps.account_id and sessions.id = steps.session
    and spaces.account_id = steps.account_id and spaces.id = sessions.space_id and steps.asked_ms >= :since_ms and spaces.account_id = coalesce(:account_id, spaces.account_id)
    and spaces.user_id = coalesce(:user_id, spaces.user_id) and sessions.session_id = coalesce(:session_id, sessions.session_id)
group by steps.key_id, steps.session, spaces.account_id, spaces.user_id, sessions.session_id;  -- join order: filtering steps by time first leaves the fewest rows

-- cubes_since: Count the cubes that those searches showed for the first time, and how many the session's user rated
select steps.session, steps.key_id, spaces.account_id, count(*) as shown, count(ratings.cube) as rated
from steps cross join sessions cross join spaces cross join shown_cubes
left join ratings on ratings.cube = shown_cubes.cube and ratings.account_id = spaces.account_id and ratings.user_id = spaces.user_id
where sessions.account_id = steps.account_id and sessions.id = steps.session
    and spaces.account_id = steps.account_id and spaces.id = sessions.space_id
    and shown_cubes.account_id = steps.account_id and shown_cubes.session = steps.session and shown_cubes.step = steps.step
    and shown_cubes.is_new = 1
    and steps.asked_ms >= :since_ms and spaces.account_id = coalesce(:account_id, spaces.account_id)
    and spaces.user_id = coalesce(:user_id, spaces.user_id) and sessions.session_id = coalesce(:session_id, sessions.session_id)
group by steps.key_id, steps.session, spaces.account_id;  -- join order: filtering steps by time first leaves the fewest rows

-- looks_since: Count second looks per session and key, the turns reviewed, and those that passed their last review
select looks.session, looks.key_id, spaces.account_id, spaces.user_id, sessions.session_id, max(looks.looked_ms) as last_ms,
    sum(looks.passed + looks.failed) as looks, count(*) as turns_looked, sum(looks.last_passed) as passed
from looks cross join sessions cross join spaces
where sessions.account_id = looks.account_id and sessions.id = looks.session
    and spaces.account_id = looks.account_id and spaces.id = sessions.space_id and looks.looked_ms >= :since_ms and spaces.account_id = coalesce(:account_id, spaces.account_id)
    and spaces.user_id = coalesce(:user_id, spaces.user_id) and sessions.session_id = coalesce(:session_id, sessions.session_id)
group by looks.key_id, looks.session, spaces.account_id, spaces.user_id, sessions.session_id;

-- turns_since: Count the turns of each session that take part in the protocol, those with a question of the last day before, those that cite events or had a second look, and those that had one
select events.session, spaces.account_id, spaces.user_id, sessions.session_id, max(events.created_ms) as last_ms, count(*) as turns,
    sum(case when events.step > 0 and events.query <> '' and events.created_ms - events.occurred_ms < 86400000 then 1 else 0 end) as questions,
    sum(case when looks.event is not null or events.response like '%(ref: e\_%' escape '\' or events.response like '%（ref%e\_%' escape '\' then 1 else 0 end) as looks_due,
    count(looks.event) as looked
from spaces cross join sessions cross join events
left join looks on looks.account_id = events.account_id and looks.session = events.session and looks.event = events.id
where sessions.account_id = spaces.account_id and sessions.space_id = spaces.id
    and events.account_id = spaces.account_id and events.session = sessions.id and (events.step > 0 or looks.event is not null) and events.created_ms >= :since_ms and coalesce(sessions.last_turn_ms, sessions.created_ms) >= :since_ms
    and spaces.account_id = coalesce(:account_id, spaces.account_id)
    and spaces.user_id = coalesce(:user_id, spaces.user_id) and sessions.session_id = coalesce(:session_id, sessions.session_id)
group by events.session, spaces.account_id, spaces.user_id, sessions.session_id;

-- key_labels: List the keys of one account, or of all, with their hints and labels
select keys.id, keys.hint, keys.label, accounts.name as account from keys join accounts on accounts.id = keys.account_id
where keys.account_id = coalesce(:account_id, keys.account_id);

-- account_names: Return the name of one account, or of all
select id, name from accounts where id = coalesce(:account_id, id);

-- session_counts: Return the counts above for one session since it began
select found.*, cubes.*, seen.*, taken.*, seen.turns_looked as looked
from sessions
cross join (
    select count(*) as turns,
        coalesce(sum(case when events.step > 0 and events.query <> '' and events.created_ms - events.occurred_ms < 86400000 then 1 else 0 end), 0) as questions,
        coalesce(sum(case
            when looks.event is not null or events.response like '%(ref: e\_%' escape '\' or events.response like '%（ref%e\_%' escape '\' then 1 else 0
        end), 0) as looks_due
    from events left join looks on looks.account_id = events.account_id and looks.session = events.session and looks.event = events.id
    where events.account_id = :account_id and events.session = :session and (events.step > 0 or looks.event is not null)
) as taken
cross join (
    select count(*) as searches, coalesce(sum(case when after.step is null and session.remembered_step >= steps.step then 1
            when after.step is not null and instr(after.owed, 'turnless') = 0 then 1 else 0 end), 0) as turns_due,
        coalesce(sum(case
            when after.step is null and session.remembered_step >= steps.step then 1
            when after.step is not null and instr(after.owed, 'turnless') = 0 and instr(after.owed, 'turn_not_remembered') = 0 then 1 else 0 end), 0) as remembered,
        coalesce(sum(case when after.step is not null and instr(after.owed, 'turnless') > 0 then 1 else 0 end), 0) as turnless,
        coalesce(sum(case when after.step is not null and instr(after.owed, 'sealless') = 0 then 1 else 0 end), 0) as seals_due,
        coalesce(sum(case when after.step is not null and instr(after.owed, 'sealless') = 0 and instr(after.owed, 'seal_') = 0 then 1 else 0 end), 0) as sealed
    from steps join sessions as session on session.account_id = :account_id and session.id = steps.session
    left join steps as after on after.account_id = :account_id and after.session = steps.session and after.step = steps.step + 1 where steps.account_id = :account_id and steps.session = :session
) as found
cross join (
    select count(*) as shown, count(ratings.cube) as rated from shown_cubes
    join sessions as shown_in on shown_in.account_id = :account_id and shown_in.id = shown_cubes.session
    join spaces on spaces.account_id = :account_id and spaces.id = shown_in.space_id
    left join ratings on ratings.cube = shown_cubes.cube and ratings.account_id = :account_id and ratings.user_id = spaces.user_id
    where shown_cubes.account_id = :account_id and shown_cubes.session = :session and shown_cubes.is_new = 1
) as cubes
cross join (
    select coalesce(sum(passed + failed), 0) as looks, count(*) as turns_looked, coalesce(sum(last_passed), 0) as passed
    from looks where looks.account_id = :account_id and looks.session = :session
) as seen
where sessions.account_id = :account_id and sessions.id = :session;
