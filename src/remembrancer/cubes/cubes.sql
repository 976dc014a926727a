-- event_of_account: The user and the sources of an event of an account, to check evidence
select spaces.user_id, events.query_source, events.response_source
from events join sessions on sessions.account_id = :account_id and sessions.id = events.session join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where events.account_id = :account_id and events.event_id = :event_id;

-- session_of: A session of an account's user
select sessions.id
from sessions join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where sessions.account_id = :account_id and spaces.user_id = :user_id and sessions.session_id = :session_id;

-- add_cube: Store a cube
insert into cubes (cube_id, account_id, session, user_id, for_account, kind, topic, essence, rules, evidence, model, status, source, created_ms, expires_ms)
values (:cube_id, :account_id, :session, :user_id, :for_account, :kind, :topic, :essence, :rules, :evidence, :model, :status, :source, :now_ms, :expires_ms)
returning id;

-- add_cube [postgresql]: ids in commit order, which a sequence would not give; search reads the rows after the last known id
with made as (update cubes_made set last = last + 1 returning last)
insert into cubes (id, cube_id, account_id, session, user_id, for_account, kind, topic, essence, rules, evidence, model, status, source, created_ms, expires_ms)
select last, :cube_id, :account_id, :session, :user_id, :for_account, :kind, :topic, :essence, :rules, :evidence, :model, :status, :source, :now_ms, cast(:expires_ms as bigint) from made
returning id;

-- same_cube: The identical cube of an account's session, if there is one
select cube_id, status, for_account from cubes
where account_id = :account_id and session = :session and topic = :topic and essence = :essence and rules = :rules
order by id desc limit 1;

-- best_cubes: Cubes for every session of a user: the user's own, the account's shared ones, those the user rated useful, and trusted ones, but none the user rated otherwise; most useful first, then newest
select cubes.topic, cubes.essence, cubes.rules, case when cubes.account_id = :account_id then cubes.source else 5 end as source
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id and ratings.user_id = :user_id
where cubes.status <> 'retired' and cubes.merged_into is null and coalesce(ratings.vote, 1) = 1
    and ((cubes.account_id = :account_id and (cubes.status <> 'private' or (cubes.for_account = 1 or cubes.user_id = :user_id))) or cubes.status = 'trusted' or (cubes.status = 'published' and ratings.vote = 1))
order by cubes.useful - cubes.useless desc, cubes.id desc limit :most;

-- add_index: Store the index entry of a cube
insert into cube_index (id, words, embedder, vectors) values (:id, :words, :embedder, :vectors);

-- newest: The newest cubes that a user may see: shared ones, the account's and the user's private ones; and the revision of older ones
select
    (select revision from cube_revision) as revision,
    (select max(id) from cubes where status <> 'private' and merged_into is null) as shared,
    (select max(id) from cubes where account_id = :account_id and status = 'private' and for_account = 1 and merged_into is null) as account,
    (select max(id) from cubes where account_id = :account_id and status = 'private' and user_id = :user_id and for_account = 0 and merged_into is null) as own;

-- shared_rows: The index entries of shared cubes from an id on; with the vectors of these two embedders
select cubes.id, cube_index.words, case when cube_index.embedder = :embedder then cube_index.vectors end as vectors,
    case when cube_index.embedder = :older then cube_index.vectors end as older_vectors
from cubes join cube_index on cube_index.id = cubes.id
where cubes.status <> 'private' and cubes.merged_into is null and cubes.id >= :low order by cubes.id limit :most;

-- own_rows: The same for a user's private cubes; with null as the user for those of the whole account
select cubes.id, cube_index.words, case when cube_index.embedder = :embedder then cube_index.vectors end as vectors,
    case when cube_index.embedder = :older then cube_index.vectors end as older_vectors
from cubes join cube_index on cube_index.id = cubes.id
where cubes.account_id = :account_id and cubes.status = 'private' and cubes.merged_into is null and cubes.id >= :low
    and case when cast(:user_id as text) is null then cubes.for_account = 1 else cubes.for_account = 0 and cubes.user_id = :user_id end
order by cubes.id limit :most;

-- cube_texts: The text of a cube
select topic, essence, rules from cubes where id = :id;

-- less_trusted: The cubes that an account sees and that are less trusted than :most; those of others are from another (5)
select id from cubes where status <> 'private' and case when account_id = :account_id then source else 5 end > :most
union all select id from cubes where account_id = :account_id and status = 'private' and source > :most;

-- rejected: The cubes that a user rated -1
select cube from ratings where account_id = :account_id and user_id = :user_id and vote = -1;

-- served: Cubes by their ids, a JSON array, as a user sees them, with the user's ratings; neither retired ones nor private ones of others
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status,
    cubes.useful, cubes.useless, cubes.created_ms, ratings.vote, cubes.for_account, case when cubes.account_id = :account_id then 1 else 0 end as is_of_account,
    case when cubes.account_id = :account_id and cubes.user_id = :user_id then 1 else 0 end as is_own,
    case when cubes.account_id = :account_id then cubes.source else 5 end as source
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id and ratings.user_id = :user_id
where cubes.id in (select value from json_each(:ids)) and cubes.merged_into is null and cubes.status <> 'retired'
    and (cubes.status <> 'private' or (cubes.account_id = :account_id and (cubes.for_account = 1 or cubes.user_id = :user_id)));

-- served [postgresql]: as an array, which makes the planner use the key whatever row count it expects
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.model, cubes.status,
    cubes.useful, cubes.useless, cubes.created_ms, ratings.vote, cubes.for_account, case when cubes.account_id = :account_id then 1 else 0 end as is_of_account,
    case when cubes.account_id = :account_id and cubes.user_id = :user_id then 1 else 0 end as is_own,
    case when cubes.account_id = :account_id then cubes.source else 5 end as source
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id and ratings.user_id = :user_id
where cubes.id = any (array(select cast(value as bigint) from json_each(:ids))) and cubes.merged_into is null and cubes.status <> 'retired'
    and (cubes.status <> 'private' or (cubes.account_id = :account_id and (cubes.for_account = 1 or cubes.user_id = :user_id)));

-- own_records: What an account knows about cubes, a JSON array of ids: votes of its users but the author, exposures, how turns that used them ended, and whether a session met them
with named as materialized (
    select cast(value as bigint) as cube, cast(value as bigint) as served from json_each(:ids)
    union all select cubes.id, cubes.merged_into from json_each(:ids) as one join cubes on cubes.merged_into = cast(one.value as bigint)
), votes as materialized (
    select ratings.cube, sum(case when ratings.vote = 1 then 1 else 0 end) as useful, sum(case when ratings.vote = -1 then 1 else 0 end) as useless
    from named join ratings on ratings.cube = named.served and ratings.account_id = :account_id
    join cubes on cubes.id = ratings.cube
    where named.cube = named.served and (cubes.account_id <> :account_id or cubes.user_id is null or cubes.user_id <> ratings.user_id)
    group by ratings.cube
), shown as materialized (
    select named.served, count(shown_cubes.cube) as exposures, max(shown_cubes.shown_ms) as last_ms,
        sum(case when shown_cubes.used is not null and shown_cubes.outcome = 1 then 1 else 0 end) as helped,
        sum(case when shown_cubes.used is not null and shown_cubes.outcome = 0 then 1 else 0 end) as failed,
        max(case when shown_cubes.session = :session then 1 else 0 end) as is_met
    from named join shown_cubes on shown_cubes.account_id = :account_id and shown_cubes.cube = named.cube
    group by named.served
)
select named.served as id, coalesce(votes.useful, 0) as useful, coalesce(votes.useless, 0) as useless, coalesce(shown.exposures, 0) as exposures,
    coalesce(shown.last_ms, 0) as last_ms, coalesce(shown.helped, 0) as helped, coalesce(shown.failed, 0) as failed, coalesce(shown.is_met, 0) as is_met
from named left join votes on votes.cube = named.served left join shown on shown.served = named.served
where named.cube = named.served;

-- other_outcomes: How turns of an account ended that were shown a cube and used none
select coalesce(sum(case when outcome = 1 then 1 else 0 end), 0) as good, coalesce(sum(case when outcome = 0 then 1 else 0 end), 0) as bad
from shown_cubes where account_id = :account_id and used is null and outcome is not null;

-- visible: A cube that a user may vote on: shared, even if retired, or one that the account or the user may see; of a merged one, that into which it was merged
select coalesce(merged_into, id) as id from cubes where cube_id = :cube_id and (status <> 'private' or (account_id = :account_id and (cubes.for_account = 1 or cubes.user_id = :user_id)));

-- wording: The texts of a cube that a user sees
select id, cube_id, topic, essence, rules, status, for_account, account_id = :account_id as is_of_account from cubes
where id = :id and merged_into is null and (status <> 'private' or (account_id = :account_id and (cubes.for_account = 1 or cubes.user_id = :user_id)));

-- own_cube: A cube of the account that a user sees, or that into which it was merged
select served.id, served.cube_id, served.topic, served.essence, served.rules, served.status, served.for_account
from cubes join cubes as served on served.id = coalesce(cubes.merged_into, cubes.id)
where cubes.account_id = :account_id and cubes.cube_id = :cube_id and served.account_id = :account_id
    and (cubes.status <> 'private' or (cubes.for_account = 1 or cubes.user_id = :user_id));

-- merge: Let a cube, and those merged into it, be served as another one
update cubes set merged_into = :into where id = :id or merged_into = :id;

-- take_ratings: Copy the ratings of a cube to another one, but those of users who rated it
insert into ratings (cube, account_id, user_id, vote, reason, rated_ms)
select :into, account_id, user_id, vote, reason, rated_ms from ratings where cube = :id
on conflict (cube, account_id, user_id) do nothing;

-- separate_all_of: Serve the cubes again that were merged into those of an account
update cubes set merged_into = null where merged_into in (select other.id from cubes as other where other.account_id = :account_id);

-- separate: Serve the cubes again that were merged into one of the account
update cubes set merged_into = null where merged_into in (select other.id from cubes as other where other.account_id = :account_id and other.id = :id);

-- rate: Store a user's rating of a cube, replacing the previous one
insert into ratings (cube, account_id, user_id, vote, reason, rated_ms) values (:cube, :account_id, :user_id, :vote, :reason, :now_ms)
on conflict (cube, account_id, user_id) do update set vote = excluded.vote, reason = excluded.reason, rated_ms = excluded.rated_ms;

-- recount: Count the accounts for and against a cube by the majority of their users, without the author's; a tie and ratings of 0 count for neither
update cubes set
    useful = (
        select count(*) from (
            select account_id from ratings where cube = cubes.id and account_id <> cubes.account_id group by account_id having sum(vote) > 0
        ) as agreed
    ),
    useless = (
        select count(*) from (
            select account_id from ratings where cube = cubes.id and account_id <> cubes.account_id group by account_id having sum(vote) < 0
        ) as opposed
    )
where id = :id
returning status, useful, useless;

-- votes_of_account: Whether a cube is of the account, and the account's voters with the sum of their votes
select cubes.account_id = :account_id as is_own, count(ratings.vote) as voters, coalesce(sum(ratings.vote), 0) as total
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id and ratings.vote <> 0
where cubes.id = :cube group by cubes.account_id;

-- set_status: Set the status of a shared cube
update cubes set status = :status where id = :id and status <> 'private';

-- unrated: The cubes that a session was shown as new before a step and its user has not rated, in that order
select cubes.id, cubes.cube_id, spaces.user_id
from shown_cubes join cubes on cubes.id = shown_cubes.cube
join sessions on sessions.account_id = :account_id and sessions.id = shown_cubes.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
left join ratings on ratings.cube = shown_cubes.cube and ratings.account_id = :account_id and ratings.user_id = spaces.user_id
where shown_cubes.account_id = :account_id and shown_cubes.session = :session and shown_cubes.step < :before_step and ratings.cube is null
    and shown_cubes.is_new = 1
order by shown_cubes.step, shown_cubes.cube;

-- stale: Some cubes without a current index entry (ranges of one index: no full scan)
select cubes.id, cubes.topic, cubes.essence, cubes.rules
from (
    select id from cube_index where embedder is null
    union all select id from cube_index where embedder < :embedder
    union all select id from cube_index where embedder > :embedder
    limit :most
) as stale join cubes on cubes.id = stale.id;

-- set_index: Replace the index entry of a cube
update cube_index set words = :words, embedder = :embedder, vectors = :vectors where id = :id;

-- revise: Make every cached index of cubes reload
update cube_revision set revision = revision + 1;

-- erase_ratings_of: Erase the ratings of an account's cubes
delete from ratings where cube in (select cubes.id from cubes where cubes.account_id = :account_id);

-- erase_shown_of: Erase the records that an account's cubes were shown
delete from shown_cubes where cube in (select cubes.id from cubes where cubes.account_id = :account_id);

-- erase_index_of: Erase the index entries of an account's cubes
delete from cube_index where id in (select cubes.id from cubes where cubes.account_id = :account_id);

-- erase_cubes_of: Erase an account's cubes
delete from cubes where account_id = :account_id;

-- erase_ratings_of_cube: Erase the ratings of a cube
delete from ratings where cube in (select cubes.id from cubes where cubes.account_id = :account_id and cubes.id = :id);

-- erase_shown_of_cube: Erase the records that a cube was shown
delete from shown_cubes where cube in (select cubes.id from cubes where cubes.account_id = :account_id and cubes.id = :id);

-- erase_index_of_cube: Erase the index entry of a cube
delete from cube_index where id in (select cubes.id from cubes where cubes.account_id = :account_id and cubes.id = :id);

-- erase_cube: Erase a cube
delete from cubes where account_id = :account_id and id = :id;

-- private_of: The private cubes of a user of an account
select id from cubes where account_id = :account_id and user_id = :user_id and status = 'private' and for_account = 0;

-- forget_author: Erase the name of the user who made cubes of an account
update cubes set user_id = null where account_id = :account_id and user_id = :user_id;

-- voters: The users of an account who rated a cube
select distinct user_id from ratings where account_id = :account_id;

-- erase_uncounted_ratings: Erase a user's ratings that count nowhere: 0, and those of the account's own cubes
delete from ratings
where account_id = :account_id and user_id = :user_id
    and (vote = 0 or cube in (select cubes.id from cubes where cubes.account_id = :account_id));

-- anonymize_ratings: Erase the reasons of a user's votes and replace the user_id; the votes still count
update ratings set user_id = :tombstone, reason = null where account_id = :account_id and user_id = :user_id;

-- move_evidence: Replace the evidence of an account's cubes
update cubes set evidence = :new where account_id = :account_id and evidence = :old;
