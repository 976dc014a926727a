-- events_to_erase: The events of a range that are to be erased, in the order of their sessions
select id, event_id, session, created_ms, superseded_by from events
where account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
order by session, created_ms, id;

-- session_counts: The turns of a session, and how many of them L1s cover
select turns, turns_summarised from sessions where account_id = :account_id and id = :session;

-- latest_turns: The latest turns of a session
select id from events where account_id = :account_id and session = :session and superseded_by is null order by created_ms desc, id desc limit :most;

-- set_counts: Set the numbers of turns of a session
update sessions set turns = :turns, turns_summarised = :summarised, cube_turn = case when cube_turn > :turns then :turns else cube_turn end where account_id = :account_id and id = :session;

-- l1s_of: The L1s of a session, oldest first
select id, l1_id, created_ms from summaries where account_id = :account_id and session = :session order by created_ms, id;

-- erase_events: Erase turns
delete from events
where account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)));

-- end_erased_tasks: End the tasks that turns opened
update sessions set open_task = null where account_id = :account_id and space_id = :space_id and open_task in (
    select event_id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- move_task: Let another turn be the one that opened the task of a session
update sessions set open_task = case when open_task = :old then cast(:new as text) else open_task end where account_id = :account_id and id = :session;

-- erase_index: Erase the index entries of turns
delete from event_index
where account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)));

-- erase_shown: Erase the records that turns were shown to sessions of their space
delete from shown_events
where shown_events.account_id = :account_id and session in (select sessions.id from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id) and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- erase_fact_sources: Erase the record that turns stated facts
delete from fact_sources where fact_sources.account_id = :account_id and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- move_stated_facts: Assign the facts that came with turns to another turn that stated them
update facts set event = (select min(fact_sources.event) from fact_sources where fact_sources.account_id = :account_id and fact_sources.fact = facts.id)
where facts.account_id = :account_id and space_id = :space_id and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
) and exists (select 1 from fact_sources where fact_sources.account_id = :account_id and fact_sources.fact = facts.id);

-- prune_first_sources: Erase sources that became the turns that facts first came with
delete from fact_sources where fact_sources.account_id = :account_id
    and exists (select 1 from facts where facts.account_id = :account_id and facts.id = fact_sources.fact and facts.event = fact_sources.event);

-- erase_facts: Erase the facts that came with turns
delete from facts where facts.account_id = :account_id and space_id = :space_id and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- ids_passing: The turns of a space that pass filters, whose condition stands for `true`
select id from events where account_id = :account_id and id >= cast(:space_id as bigint) << 32 and id < (cast(:space_id as bigint) + 1) << 32 and true order by id;

-- erase_facts_passing: Erase the facts of a space, or of one of its sessions, that pass filters, whose condition stands for `true`
delete from facts where account_id = :account_id and space_id = :space_id and (cast(:session as bigint) is null or session = :session) and true;

-- erase_facts_of_space: Erase the facts of a space
delete from facts where account_id = :account_id and space_id = :space_id;

-- prune_sources: Erase the sources of facts that were erased
delete from fact_sources where fact_sources.account_id = :account_id
    and not exists (select 1 from facts where facts.account_id = :account_id and facts.id = fact_sources.fact);

-- prune_keys: Erase the keys of facts of a space that were erased
delete from fact_keys where fact_keys.account_id = :account_id and fact_keys.space_id = :space_id
    and not exists (select 1 from facts where facts.account_id = :account_id and facts.id = fact_keys.fact);

-- prune_values: Erase the values of the metadata of facts of a space that were erased
delete from metadata_values where metadata_values.account_id = :account_id and metadata_values.space_id = :space_id and kind = 1
    and not exists (select 1 from facts where facts.account_id = :account_id and facts.id = metadata_values.item);

-- loosen_successors: Forget successors of facts that were erased
update facts set superseded_by = null where facts.account_id = :account_id and facts.space_id = :space_id and superseded_by is not null
    and not exists (select 1 from facts as newer where newer.account_id = :account_id and newer.id = facts.superseded_by);

-- move_facts: Assign the facts of a turn to another turn
update facts set event = :new where account_id = :account_id and space_id = :space_id and event = :old;

-- move_sources: Let another turn be the one that stated facts
update fact_sources set event = :new where account_id = :account_id and event = :old
    and not exists (select 1 from fact_sources as others where others.account_id = :account_id and others.fact = fact_sources.fact and others.event = :new);

-- erase_facts_of_session: Erase the facts of a session
delete from facts where account_id = :account_id and space_id = :space_id and session = :session;

-- erase_l1: Erase an L1
delete from summaries where account_id = :account_id and id = :id;

-- erase_maps: Erase every version of a map
delete from maps where account_id = :account_id and space_id = :space_id;

-- uncount_l1s: Reduce the number of L1s of a space; no map covers the remaining ones
update spaces set l1_count = l1_count - :erased, l1_mapped = 0 where account_id = :account_id and id = :space_id;

-- erase_shown_cubes: Erase the records of cubes that a session was shown
delete from shown_cubes where account_id = :account_id and session = :session;

-- erase_duties: Erase the words that closed duties of a session
delete from closed_duties where account_id = :account_id and session = :session;

-- loosen_cubes: Detach the cubes of a session from it
update cubes set session = null where account_id = :account_id and session = :session;

-- erase_shown_of: Erase the records of events that a session was shown
delete from shown_events where account_id = :account_id and session = :session;

-- erase_steps: Erase the counted searches of a session
delete from steps where account_id = :account_id and session = :session;

-- erase_session: Erase a session
delete from sessions where account_id = :account_id and id = :session;

-- sessions_in: The sessions of a space
select id from sessions where account_id = :account_id and space_id = :space_id;

-- erase_origins: Erase the origins of imported events of a space
delete from origins where account_id = :account_id and space_id = :space_id;

-- bury_space: Replace the user_id of an erased space; its number is never used again
update spaces set user_id = :tombstone, revision = revision + 1, l1_count = 0, l1_mapped = 0 where account_id = :account_id and id = :space_id;

-- spaces_of: The spaces of an account
select id, user_id, events_made, revision, l1_count from spaces where account_id = :account_id;

-- erase_looks: Erase the results of second looks at turns
delete from looks
where looks.account_id = :account_id and session in (select sessions.id from sessions where sessions.account_id = :account_id and sessions.space_id = :space_id) and event in (
    select id from events
    where events.account_id = :account_id and id >= :low and id < :high and (cast(:session as bigint) is null or events.session = :session) and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:only as text) is null or id in (select cast(value as bigint) from json_each(:only)))
);

-- move_looks: Assign the second looks at a turn to the turn that replaced it
update looks set event = :new where account_id = :account_id and session = :session and event = :old;

-- erase_looks_of: Erase the results of second looks of a session
delete from looks where account_id = :account_id and session = :session;

-- erase_search: Remove events from the search index inside the database; this engine has none
select 1 where 1 = 0;

-- erase_search [postgresql]: and their terms from the counts; vectors go with the words (foreign key)
with gone as (
    delete from search_words
    where account_id = :account_id and space_id = :space_id and number = any (cast(:numbers as bigint[]))
    returning number, length, terms
), fewer as (
    select held.term, count(*) as parts from gone cross join unnest(gone.terms) as held (term) group by held.term
), none_left as (
    delete from search_terms using fewer
    where search_terms.account_id = :account_id and search_terms.space_id = :space_id
        and search_terms.term = fewer.term and search_terms.parts <= fewer.parts
), uncounted as (
    update search_terms set parts = search_terms.parts - fewer.parts from fewer
    where search_terms.account_id = :account_id and search_terms.space_id = :space_id
        and search_terms.term = fewer.term and search_terms.parts > fewer.parts
), sums as (
    select count(distinct number) as events, count(*) as parts, coalesce(sum(length), 0) as words
    from gone
)
update search_spaces
set events = search_spaces.events - sums.events, parts = search_spaces.parts - sums.parts, words = search_spaces.words - sums.words
from sums where search_spaces.account_id = :account_id and search_spaces.space_id = :space_id;

-- erase_search_of_space: Erase the search index of a space inside the database; this engine has none
select 1 where 1 = 0;

-- erase_search_of_space [postgresql]: with its term counts
with words as (
    delete from search_words where account_id = :account_id and space_id = :space_id
), terms as (
    delete from search_terms where account_id = :account_id and space_id = :space_id
)
delete from search_spaces where account_id = :account_id and space_id = :space_id;

-- supersede: Record that a revision took the place of a draft
update events set superseded_by = :revision where account_id = :account_id and id = :id;

-- drafts_of_events: The drafts that some events, whose ids are a JSON array, took the place of
select id, event_id, session, created_ms, superseded_by from events
where account_id = :account_id and session = :session and superseded_by in (select value from json_each(:ids));

-- drafts_of_events [postgresql]: the values of an array have no type
select id, event_id, session, created_ms, superseded_by from events
where account_id = :account_id and session = :session and superseded_by in (select cast(value as bigint) from json_each(:ids));

-- erase_rules: Remove the retention rule of a user, or all rules of the account
delete from retention where account_id = :account_id and (cast(:user_id as text) is null or user_id = :user_id);

-- erase_sweeps: Remove the records of removals of a user, or of the account
delete from sweeps where account_id = :account_id and (cast(:user_id as text) is null or user_id = :user_id);

-- ids_of_events: Ids of a range of events, page by page
select id, event_id from events where account_id = :account_id and id >= :low and id < :high order by id limit :most;

-- user_of_space: The user of a space
select user_id from spaces where account_id = :account_id and id = :id;
