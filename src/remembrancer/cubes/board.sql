-- counts: How many lessons an account sees, by where they stand
select 'private' as status, count(*) as n from cubes where account_id = :account_id and status = 'private'
union all select status, count(*) from cubes where status <> 'private' group by status;

-- shared_page: Lessons of one standing, the newest first, from before one on
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, cubes.account_id = :account_id as own, ratings.vote
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id
where cubes.status <> 'private' and cubes.status = :status and cubes.id < :below and (cast(:kind as text) is null or cubes.kind = :kind)
order by cubes.id desc limit :most;

-- own_page: The same of an account's own
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, cubes.account_id = :account_id as own, ratings.vote
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id
where cubes.account_id = :account_id and cubes.status = :status and cubes.id < :below and (cast(:kind as text) is null or cubes.kind = :kind)
order by cubes.id desc limit :most;

-- card: One lesson, shared or the account's own
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, cubes.account_id = :account_id as own, ratings.vote
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id
where cubes.cube_id = :cube_id and (cubes.status <> 'private' or cubes.account_id = :account_id);

-- resting_on: The lessons of an account that rest on an event
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, 1 as own, ratings.vote
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id
where cubes.account_id = :account_id and cubes.evidence = :event_id order by cubes.id limit :most;

-- made_in: The session that a lesson was made in
select spaces.user_id, sessions.session_id from sessions join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id where sessions.account_id = :account_id and sessions.id = :session;

-- votes: What was thought of a lesson, newest first; whose it was is not told
select vote, reason, rated_ms, account_id = :account_id as own from ratings where cube = :cube order by rated_ms desc limit :most;
