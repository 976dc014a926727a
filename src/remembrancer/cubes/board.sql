-- counts: The number of cubes that an account, or one of its users, sees, by status
select 'private' as status, count(*) as n from cubes where account_id = :account_id and status = 'private' and merged_into is null and (cast(:user_id as text) is null or status <> 'private' or for_account = 1 or user_id = :user_id)
union all select status, count(*) from cubes where status <> 'private' and merged_into is null group by status;

-- shared_page: Shared cubes of one status below an id, newest first
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, cubes.account_id = :account_id as own,
    (select sum(ratings.vote) from ratings where ratings.cube = cubes.id and ratings.account_id = :account_id) as vote_sum
from cubes
where cubes.status <> 'private' and cubes.merged_into is null and cubes.status = :status and cubes.id < :below and (cast(:kind as text) is null or cubes.kind = :kind)
order by cubes.id desc limit :most;

-- own_page: The same for the cubes of an account that it, or one of its users, sees
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, cubes.account_id = :account_id as own,
    (select sum(ratings.vote) from ratings where ratings.cube = cubes.id and ratings.account_id = :account_id) as vote_sum
from cubes
where cubes.account_id = :account_id and cubes.merged_into is null and cubes.status = :status and cubes.id < :below and (cast(:kind as text) is null or cubes.kind = :kind)
    and (cast(:user_id as text) is null or cubes.status <> 'private' or cubes.for_account = 1 or cubes.user_id = :user_id)
order by cubes.id desc limit :most;

-- card: One cube, shared or one that the account, or one of its users, sees; for a merged one, that which is served in its place
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, cubes.account_id = :account_id as own,
    (select sum(ratings.vote) from ratings where ratings.cube = cubes.id and ratings.account_id = :account_id) as vote_sum
from cubes
where cubes.id = (select coalesce(named.merged_into, named.id) from cubes as named where named.cube_id = :cube_id)
    and (cubes.status <> 'private' or cubes.account_id = :account_id) and (cast(:user_id as text) is null or cubes.status <> 'private' or cubes.for_account = 1 or cubes.user_id = :user_id);

-- cubes_of_evidence: The cubes of an account whose evidence is an event
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status, cubes.useful,
    cubes.useless, cubes.created_ms, cubes.session, 1 as own,
    (select sum(ratings.vote) from ratings where ratings.cube = cubes.id and ratings.account_id = :account_id) as vote_sum
from cubes
where cubes.account_id = :account_id and cubes.evidence = :event_id order by cubes.id limit :most;

-- session_of_cube: The session in which a cube was created
select spaces.user_id, sessions.session_id from sessions join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id where sessions.account_id = :account_id and sessions.id = :session;

-- votes: The ratings of a cube, newest first; the users of the own account only, no other voters
select vote, reason, rated_ms, account_id = :account_id as own, case when account_id = :account_id then user_id end as user_id
from ratings where cube = :cube order by rated_ms desc, user_id limit :most;

-- record: How often an account, or one of its users, was shown a cube, and how turns that used it ended
select count(*) as exposures,
    coalesce(sum(case when used is not null and outcome = 1 then 1 else 0 end), 0) as helped,
    coalesce(sum(case when used is not null and outcome = 0 then 1 else 0 end), 0) as failed
from shown_cubes
where shown_cubes.account_id = :account_id and shown_cubes.cube in (select cubes.id from cubes where cubes.id = :cube union select cubes.id from cubes where cubes.merged_into = :cube)
    and (
        cast(:user_id as text) is null or shown_cubes.session in (
            select sessions.id from sessions join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
            where sessions.account_id = :account_id and spaces.user_id = :user_id
        )
    );

-- exposures: The latest searches of an account, or of one of its users, that returned a cube
select spaces.user_id, sessions.session_id, shown_cubes.shown_ms, shown_cubes.used, shown_cubes.outcome,
    shown_cubes.signals, shown_cubes.settled_ms
from shown_cubes join sessions on sessions.account_id = :account_id and sessions.id = shown_cubes.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where shown_cubes.account_id = :account_id and shown_cubes.cube in (select cubes.id from cubes where cubes.id = :cube union select cubes.id from cubes where cubes.merged_into = :cube) and (cast(:user_id as text) is null or spaces.user_id = :user_id)
order by shown_cubes.shown_ms desc, shown_cubes.session desc limit :most;

-- merged: The cubes that a cube is served in the place of, as far as the account sees them, newest first
select cube_id, topic, essence, rules, created_ms, account_id = :account_id as own
from cubes where merged_into = :cube and (account_id = :account_id or status <> 'private') and (cast(:user_id as text) is null or status <> 'private' or for_account = 1 or user_id = :user_id) order by id desc limit :most;
