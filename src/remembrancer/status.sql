-- events_stale: events that nothing or something else derived words and vectors for (three ranges of one index: no full scan)
select
    (select count(*) from event_index where embedder is null)
    + (select count(*) from event_index where embedder < :id)
    + (select count(*) from event_index where embedder > :id) as pending;

-- cubes_shared: how many cubes are served to all accounts
select count(*) as n from cubes where status in ('published', 'trusted') and merged_into is null and (expires_ms is null or expires_ms > :now_ms);

-- is_above_policies: whether the policies on rows do not bind whoever asks; here there are none
select 0 as found;

-- is_above_policies [postgresql]: superusers, and roles that were excepted
select rolsuper or rolbypassrls as found from pg_roles where rolname = current_user;

-- any_key: whether a key was ever made
select exists (select 1 from keys) as found;

-- kept: what an account keeps; what all of them keep when :account_id is null
select
    coalesce(sum(of_space.turns), 0) as turns,
    coalesce(sum(of_space.sessions), 0) as sessions,
    count(*) filter (where of_space.turns > 0) as users,
    coalesce(sum(of_space.summaries), 0) as summaries,
    (select count(*) from facts where account_id = coalesce(:account_id, account_id) and status = 0 and origin = 0) as facts,
    (select count(*) from cubes where account_id = coalesce(:account_id, account_id)) as cubes,
    (select count(*) from files where account_id = coalesce(:account_id, account_id)) as files
from (
    select spaces.l1_count as summaries, count(sessions.id) as sessions, coalesce(sum(sessions.turns), 0) as turns
    from spaces left join sessions on sessions.account_id = spaces.account_id and sessions.space_id = spaces.id
    where spaces.account_id = coalesce(:account_id, spaces.account_id)
    group by spaces.account_id, spaces.id, spaces.l1_count
) as of_space;

-- good_keys: how many keys of an account are accepted now
select count(*) as n from keys
where account_id = :account_id and revoked_ms is null and (expires_ms is null or expires_ms > :now_ms);

-- store_bytes: The size of the store
select page_count * page_size as bytes from pragma_page_count() cross join pragma_page_size();

-- store_bytes [postgresql]: of the whole database
select pg_database_size(current_database()) as bytes;
