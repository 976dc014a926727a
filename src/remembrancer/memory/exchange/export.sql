-- spaces_page: Spaces of an account after an id
select id, user_id, created_ms, l1_mapped, events_made from spaces where account_id = :account_id and id > :after order by id limit :most;

-- events_passing: The turns of a space that pass filters, whose condition stands for `true`
select id, event_id, session from events where account_id = :account_id and id >= cast(:space_id as bigint) << 32 and id < (cast(:space_id as bigint) + 1) << 32 and true;

-- facts_passing: The facts of a space that pass filters, whose condition stands for `true`
select id, fact_id, session from facts where account_id = :account_id and space_id = :space_id and true;

-- sessions_page: Sessions of a space after an id
select id, session_id, created_ms, last_turn_ms, step, remembered_step, turns,
    case when turns_summarised < turns then turns_summarised else turns end as turns_summarised, cube_turn,
    open_task is not null as task_open, open_task
from sessions where account_id = :account_id and space_id = :space_id and id > :after order by id limit :most;

-- events_page: A range of turns with their sessions, revisions and second looks
select events.id, events.event_id, (
        select session_id from sessions where sessions.account_id = :account_id and sessions.id = events.session
    ) as session_id, events.step, events.topic, events.query, events.response, events.flags,
    events.occurred_ms, events.occurred_offset, events.created_ms, events.metadata, events.query_source, events.response_source, events.superseded_by is not null as superseded,
    revisions.event_id as superseded_by, events.expires_ms, events.pinned, events.withdrawn_by is not null as withdrawn,
    looks.passed, looks.failed, looks.last_passed, looks.looked_ms
from events
left join events as revisions on revisions.account_id = :account_id and revisions.id = events.superseded_by
left join looks on looks.account_id = :account_id and looks.session = events.session and looks.event = events.id
where events.account_id = :account_id and events.id >= :low and events.id < :high order by events.id;

-- withdrawn_by_range: The turns that users took back in a range of turns, and those in which they did
select event_id, withdrawn_by from events
where account_id = :account_id and withdrawn_by >= :low and withdrawn_by < :high and id <> withdrawn_by order by id;

-- origins_page: Origins of the events of a space after an origin
select origins.origin as id, origins.origin, events.event_id
from origins left join events on events.account_id = :account_id and events.id = origins.event
where origins.account_id = :account_id and origins.space_id = :space_id and origins.origin > coalesce(:after, '')
    and (origins.event = 0 or events.id is not null)
order by origins.origin limit :most;

-- origins_page [postgresql]: by the digest, as the index is; row security reads all origins of the space for each page
with page as materialized (
    select origins.origin, origins.event, digest_of(origins.origin) as digest from origins
    where origins.account_id = :account_id and origins.space_id = :space_id
        and digest_of(origins.origin) > coalesce(digest_of(cast(:after as text)), ''::bytea)
    order by digest_of(origins.origin) limit :most
)
select page.origin as id, page.origin, events.event_id
from page left join events on events.account_id = :account_id and events.id = page.event
where page.event = 0 or events.id is not null order by page.digest;

-- facts_page: Facts of a space after an id, with their sessions, turns and successors; joined after the limit
with page as materialized (
    select * from facts where facts.account_id = :account_id and facts.space_id = :space_id and facts.id > :after order by facts.id limit :most
)
select page.id, page.fact_id, sessions.session_id, events.event_id, page.text, page.status, page.kind, page.condition, page.origin = 1 as recognised, page.origin = 2 as is_version,
    page.pinned, page.valid_from_ms, page.valid_to_ms, page.expires_ms, newer.fact_id as superseded_by, page.uses, page.used_ms, page.created_ms, page.metadata, page.source
from page
left join sessions on sessions.account_id = :account_id and sessions.id = page.session
left join events on events.account_id = :account_id and events.id = page.event
left join facts as newer on newer.account_id = :account_id and newer.id = page.superseded_by
order by page.id;

-- summaries_page: L1s of a space after an id
select summaries.id, summaries.l1_id, sessions.session_id, summaries.topic, summaries.text, summaries.message_count, summaries.turns,
    summaries.ratio, summaries.source, summaries.created_ms
from summaries join sessions on sessions.account_id = :account_id and sessions.id = summaries.session
where summaries.account_id = :account_id and summaries.space_id = :space_id and summaries.id > :after order by summaries.id limit :most;

-- maps_page: Versions of the map of a space after a version
select version as id, version, text, l1_count, made_by, source, created_ms
from maps where account_id = :account_id and space_id = :space_id and version > :after order by version limit :most;

-- memory_files_page: Versions of the memory files of a space after an id
select id, path, version, is_current, change, other_path, flags, text, created_ms
from memory_files where account_id = :account_id and space_id = :space_id and id > :after order by id limit :most;

-- prompts_page: Prompts of an account after a user_id
select user_id as id, user_id, text, updated_ms
from prompts where account_id = :account_id and user_id > :after order by user_id limit :most;

-- cubes_page: Cubes of an account after an id
select cubes.id, cubes.cube_id, cubes.user_id, cubes.for_account, sessions.session_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence,
    cubes.model, cubes.source, cubes.status, cubes.useful, cubes.useless, cubes.created_ms, cubes.expires_ms, served.cube_id as merged_into
from cubes
left join cubes as served on served.id = cubes.merged_into
left join sessions on sessions.account_id = :account_id and sessions.id = cubes.session
where cubes.account_id = :account_id and cubes.id > :after order by cubes.id limit :most;

-- votes_page: Ratings by users of an account after a cube's id, those of each cube together
select ratings.cube as id, cubes.cube_id, ratings.user_id, ratings.vote, ratings.reason, ratings.rated_ms
from ratings join cubes on cubes.id = ratings.cube
where ratings.account_id = :account_id and ratings.cube in (
    select distinct others.cube from ratings as others where others.account_id = :account_id and others.cube > :after order by others.cube limit :most
)
order by ratings.cube, ratings.user_id;

-- files_page: Created files of an account after an id
select id, filename, user_id, blob as sha256, size_bytes as bytes, made_by, created_ms
from files where account_id = :account_id and id > :after order by id limit :most;
