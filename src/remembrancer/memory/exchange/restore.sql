-- events_named: Events of the account by their identifiers, a JSON array
select events.event_id as id, spaces.user_id, sessions.session_id, events.query, events.response, events.occurred_ms
from events
join sessions on sessions.account_id = :account_id and sessions.id = events.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where events.account_id = :account_id and events.event_id in (select value from json_each(:ids));

-- events_named [postgresql]: as an array, which makes the planner use the key
select events.event_id as id, spaces.user_id, sessions.session_id, events.query, events.response, events.occurred_ms
from events
join sessions on sessions.account_id = :account_id and sessions.id = events.session
join spaces on spaces.account_id = :account_id and spaces.id = sessions.space_id
where events.account_id = :account_id and events.event_id = any (array(select value from json_each(:ids)));

-- facts_named: Facts of the account by their identifiers
select facts.fact_id as id, spaces.user_id, facts.text
from facts join spaces on spaces.account_id = :account_id and spaces.id = facts.space_id
where facts.account_id = :account_id and facts.fact_id in (select value from json_each(:ids));

-- facts_named [postgresql]: as an array, for the same reason
select facts.fact_id as id, spaces.user_id, facts.text
from facts join spaces on spaces.account_id = :account_id and spaces.id = facts.space_id
where facts.account_id = :account_id and facts.fact_id = any (array(select value from json_each(:ids)));

-- summaries_named: L1s of the account by their identifiers
select summaries.l1_id as id, spaces.user_id, summaries.text
from summaries join spaces on spaces.account_id = :account_id and spaces.id = summaries.space_id
where summaries.account_id = :account_id and summaries.l1_id in (select value from json_each(:ids));

-- summaries_named [postgresql]: as an array, for the same reason
select summaries.l1_id as id, spaces.user_id, summaries.text
from summaries join spaces on spaces.account_id = :account_id and spaces.id = summaries.space_id
where summaries.account_id = :account_id and summaries.l1_id = any (array(select value from json_each(:ids)));

-- cubes_named: Cubes of the account by their identifiers
select cubes.cube_id as id, cubes.topic, cubes.essence, cubes.rules
from cubes where cubes.account_id = :account_id and cubes.cube_id in (select value from json_each(:ids));

-- files_named: Created files of the account by their names
select files.filename as id, files.blob as sha256 from files where files.account_id = :account_id and files.filename in (select value from json_each(:ids));

-- events_elsewhere: Those of these identifiers that other accounts have
select events.event_id as id from events where events.account_id <> :account_id and events.event_id in (select value from json_each(:ids));

-- events_elsewhere [postgresql]: as an array, for the same reason
select events.event_id as id from accounts join events on events.account_id = accounts.id and events.event_id = any (array(select value from json_each(:ids)))
where accounts.id <> :account_id;

-- facts_elsewhere: Those of these identifiers that other accounts have
select facts.fact_id as id from accounts cross join facts on facts.account_id = accounts.id and facts.fact_id in (select value from json_each(:ids))
where accounts.id <> :account_id;

-- facts_elsewhere [postgresql]: as an array, for the same reason
select facts.fact_id as id from accounts join facts on facts.account_id = accounts.id and facts.fact_id = any (array(select value from json_each(:ids)))
where accounts.id <> :account_id;

-- summaries_elsewhere: Those of these identifiers that other accounts have
select summaries.l1_id as id from summaries where summaries.account_id <> :account_id and summaries.l1_id in (select value from json_each(:ids));

-- summaries_elsewhere [postgresql]: as an array, for the same reason
select summaries.l1_id as id from accounts join summaries on summaries.account_id = accounts.id and summaries.l1_id = any (array(select value from json_each(:ids)))
where accounts.id <> :account_id;

-- cubes_elsewhere: Those of these identifiers that other accounts have
select cubes.cube_id as id from cubes where cubes.account_id <> :account_id and cubes.cube_id in (select value from json_each(:ids));

-- files_elsewhere: Those of these identifiers that other accounts have
select files.filename as id from files where files.account_id <> :account_id and files.filename in (select value from json_each(:ids));

-- map_of: One version of the map of a user
select maps.text, maps.created_ms from spaces join maps on maps.account_id = spaces.account_id and maps.space_id = spaces.id
where spaces.account_id = :account_id and spaces.user_id = :user_id and maps.version = :version;

-- prompt_of: The prompt of a user
select text from prompts where account_id = :account_id and user_id = :user_id;

-- memory_file_of: One version of a memory file of a user
select memory_files.text, memory_files.change, memory_files.created_ms
from spaces join memory_files on memory_files.account_id = spaces.account_id and memory_files.space_id = spaces.id
where spaces.account_id = :account_id and spaces.user_id = :user_id and memory_files.path = :path and memory_files.version = :version;

-- memory_usage: The bytes of all versions of a user, and the number of current files
select coalesce(sum(spaces.file_bytes), 0) as bytes, (
    select count(*) from memory_files join spaces as owners on owners.account_id = :account_id and owners.id = memory_files.space_id
    where memory_files.account_id = :account_id and owners.user_id = :user_id and memory_files.is_current = 1
) as files
from spaces where spaces.account_id = :account_id and spaces.user_id = :user_id;

-- vote_of: The rating of a cube by a user, if the account can see the cube
select cubes.id, cubes.account_id as author, ratings.vote
from cubes left join ratings on ratings.cube = cubes.id and ratings.account_id = :account_id and ratings.user_id = :user_id
where cubes.cube_id = :cube_id and (cubes.status <> 'private' or cubes.account_id = :account_id);

-- add_session: Store a session with its counters
insert into sessions (account_id, space_id, session_id, step, created_ms, turns, turns_summarised, remembered_step, cube_turn, open_task, last_turn_ms)
values (:account_id, :space_id, :session_id, :step, :created_ms, :turns, :turns_summarised, :remembered_step, :cube_turn, :open_task, :last_turn_ms);

-- advance_session: Let an existing session be at least at this step and this time
update sessions set step = case when step < :step then :step else step end,
    last_turn_ms = case when last_turn_ms is null or last_turn_ms < :last_turn_ms then :last_turn_ms else last_turn_ms end
where account_id = :account_id and id = :session and (step < :step or last_turn_ms is null or last_turn_ms < :last_turn_ms);

-- advance_session [postgresql]: with a type for a time that may be null
update sessions set step = greatest(step, :step), last_turn_ms = greatest(last_turn_ms, cast(:last_turn_ms as bigint))
where account_id = :account_id and id = :session and (step < :step or last_turn_ms is distinct from greatest(last_turn_ms, cast(:last_turn_ms as bigint)));

-- recount_turns: Let a session count at least the turns it has
update sessions set turns = (
    select count(*) from events where events.account_id = :account_id and events.session = sessions.id and events.superseded_by is null
)
where account_id = :account_id and id = :session and turns < (
    select count(*) from events where events.account_id = :account_id and events.session = sessions.id and events.superseded_by is null
);

-- claim_numbers: Assign the next event numbers of a space
update spaces set events_made = events_made + :count where account_id = :account_id and id = :space_id returning events_made - :count as number;

-- add_event: Store the text of a turn
insert into events (account_id, id, event_id, session, step, topic, query, response, flags, occurred_ms, occurred_offset, created_ms, superseded_by, expires_ms, pinned, withdrawn_by, twin, repeats, metadata, query_source, response_source)
values (:account_id, :id, :event_id, :session, :step, :topic, :query, :response, :flags, :occurred_ms, :occurred_offset, :created_ms, :superseded_by, :expires_ms, :pinned, :withdrawn_by, :twin, :repeats, :metadata, :query_source, :response_source);

-- withdrawn_in: Name the turn in which the user took back some withdrawn turns of a space, whose identifiers are a JSON array
update events set withdrawn_by = :by where account_id = :account_id and id >= :low and id < :high and withdrawn_by is not null
    and event_id in (select value from json_each(:ids));

-- add_look: Store how the second looks at a turn ended
insert into looks (account_id, session, event, key_id, passed, failed, last_passed, looked_ms)
values (:account_id, :session, :event, 0, :passed, :failed, :last_passed, :looked_ms) on conflict do nothing;

-- link_event: Name the revision of a draft
update events set superseded_by = (
    select revisions.id from events as revisions where revisions.account_id = :account_id and revisions.event_id = :target
)
where account_id = :account_id and event_id = :source and superseded_by = 0 and exists (
    select 1 from events as revisions where revisions.account_id = :account_id and revisions.event_id = :target
);

-- event_row: The row id of an event
select id from events where account_id = :account_id and event_id = :event_id;

-- add_fact: Store a fact with its life
insert into facts (account_id, fact_id, space_id, session, event, text, status, kind, condition, origin, pinned,
    valid_from_ms, valid_to_ms, expires_ms, uses, used_ms, created_ms, metadata, source)
values (:account_id, :fact_id, :space_id, :session, :event, :text, :status, :kind, :condition, :origin, :pinned,
    :valid_from_ms, :valid_to_ms, :expires_ms, :uses, :used_ms, :created_ms, :metadata, :source)
returning id;

-- fact_row: The row id of a fact
select id from facts where account_id = :account_id and fact_id = :fact_id;

-- link_fact: Name the successor of a superseded fact
update facts set superseded_by = :newer where account_id = :account_id and fact_id = :source and status = 1 and superseded_by is null and id <> :newer;

-- add_l1: Store an L1
insert into summaries (account_id, l1_id, space_id, session, topic, text, message_count, turns, ratio, created_ms, source)
values (:account_id, :l1_id, :space_id, :session, :topic, :text, :message_count, :turns, :ratio, :created_ms, :source) returning id;

-- add_map: Store a version of a map
insert into maps (account_id, space_id, version, text, l1_count, made_by, created_ms, source)
values (:account_id, :space_id, :version, :text, :l1_count, :made_by, :created_ms, :source);

-- note_mapped: Let the map of a space cover at least this many of its L1s
update spaces set l1_mapped = case when :l1_mapped > l1_count then l1_count else :l1_mapped end
where account_id = :account_id and id = :space_id and l1_mapped < case when :l1_mapped > l1_count then l1_count else :l1_mapped end;

-- merge_cube: Let an imported cube be served as another one, if the account sees that
update cubes set merged_into = (
    select served.id from cubes as served
    where served.cube_id = :into and served.merged_into is null and (served.status <> 'private' or served.account_id = :account_id)
)
where account_id = :account_id and cube_id = :cube_id;
