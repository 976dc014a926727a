-- embedder_id: number of the embedder of this name
select id from embedders where name = :name;

-- events_without_vectors: events whose vectors are missing or another embedder's (three ranges of one index: no full scan)
select
    (select count(*) from event_index where embedder is null)
    + (select count(*) from event_index where embedder < :id)
    + (select count(*) from event_index where embedder > :id) as pending;

-- any_account: whether there is an account at all
select exists (select 1 from accounts) as found;
