-- events_stale: events that nothing or something else derived words and vectors for (three ranges of one index: no full scan)
select
    (select count(*) from event_index where embedder is null)
    + (select count(*) from event_index where embedder < :id)
    + (select count(*) from event_index where embedder > :id) as pending;

-- cubes_kept: how many cubes there are
select count(*) as n from cubes;

-- any_key: whether a key was ever made
select exists (select 1 from keys) as found;
