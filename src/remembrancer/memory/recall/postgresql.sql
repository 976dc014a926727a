-- indexed_space: How much of a space is indexed for search in PostgreSQL, and its term statistics
select embedder, filled_to, is_linked, events, parts, words, languages, speakers
from search_spaces where account_id = :account_id and space_id = :space_id;

-- indexed_by: The same, if it was indexed with this embedder
select filled_to from search_spaces where account_id = :account_id and space_id = :space_id and embedder = :embedder;

-- prepare: Make the planner of this transaction use indexes, and HNSW scans continue until there are enough rows
select set_config('enable_seqscan', 'off', true), set_config('hnsw.ef_search', cast(cast(:breadth as bigint) as text), true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true);

-- frequencies: Number of parts of a space that contain each of some terms
select term, parts from search_terms where account_id = :account_id and space_id = :space_id and term = any (cast(:terms as bigint[]));

-- nearest: The events whose vectors share the most signs with the query's, and the one that shares the fewest (512 stands for the dimensions)
(
    select number, 0 as is_farthest from search_vectors
    where account_id = :account_id and space_id = :space_id and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:passing as bigint[]) is null or number = any (cast(:passing as bigint[])))
    order by signs::bit(512) <~> (select cast(cast(:signs as text) as bit(512))) limit :most
)
union all
(
    select number, 1 as is_farthest from search_vectors
    where account_id = :account_id and space_id = :space_id and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:passing as bigint[]) is null or number = any (cast(:passing as bigint[])))
    order by signs::bit(512) <~> (select ~cast(cast(:signs as text) as bit(512))) limit 1
);

-- parts: Every indexed part of a space
select number, part, length, terms from search_words where account_id = :account_id and space_id = :space_id;

-- best_by_words: The events whose parts score best by the words of a query; another statement stands in for `parts`
with candidates as (
    select number, part, length, terms from search_words where account_id = :account_id and space_id = :space_id
)
select candidates.number
from candidates cross join lateral (
    select sum(word.gain) as gain from unnest(cast(:terms as bigint[]), cast(:gains as double precision[])) as word (term, gain)
    where word.term = any (candidates.terms)
) as scored
order by scored.gain / (cast(:norm as double precision) + cast(:norm_word as double precision) * candidates.length) desc, candidates.number desc
limit :most;

-- parts_with_pairs: The parts of a space that contain a term, or both terms of a pair
select distinct on (matches.number, matches.part) matches.number, matches.part, matches.length, matches.terms
from unnest(cast(:ones as bigint[]), cast(:others as bigint[]), cast(:limits as bigint[])) as pair (one, other, most)
cross join lateral (
    select number, part, length, terms from search_words  -- the terms name the space; `+ 0` keeps the planner from other indexes
    where terms @> array[pair.one, pair.other] and account_id + 0 = :account_id and space_id + 0 = :space_id
        and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:passing as bigint[]) is null or number = any (cast(:passing as bigint[])))
    limit pair.most
) as matches;

-- parts_with_phrase: The parts of a space that contain one term of each of four sets
select number, part, length, terms from search_words
where terms && cast(:first as bigint[]) and terms && cast(:second as bigint[])
    and terms && cast(:third as bigint[]) and terms && cast(:fourth as bigint[])
    and account_id + 0 = :account_id and space_id + 0 = :space_id and occurred_ms >= :after_ms and occurred_ms < :before_ms and (cast(:passing as bigint[]) is null or number = any (cast(:passing as bigint[])))
limit :each;

-- neighbours: For each of some events, the two before it in its session, itself, and the two after it, if indexed
select center.number as center, near.number
from unnest(cast(:numbers as bigint[]), cast(:ids as bigint[])) as center (number, id)
join event_index on event_index.account_id = :account_id and event_index.id = center.id  -- no expression: under row security it would not use the key
cross join lateral (
    (
        select number from search_words
        where session = event_index.session and part = 0 and number < center.number and account_id = :account_id and space_id = :space_id
        order by number desc limit 2
    )
    union all
    (
        select number from search_words
        where session = event_index.session and part = 0 and number >= center.number and account_id = :account_id and space_id = :space_id
        order by number limit 3
    )
) as near
order by center.number, near.number;

-- rows: The index entries of some events, with the vectors of these two embedders
select id, session, occurred_ms, words, case when embedder = :embedder then vectors end as vectors,
    case when embedder = :older then vectors end as older_vectors
from event_index where account_id = :account_id and id = any (cast(:ids as bigint[])) order by id;

-- behind: A large space that is not completely indexed, or was indexed with another embedder
with large as materialized (  -- so that its bounds can be used as keys under row security
    select spaces.id, spaces.account_id, spaces.id << 32 as low, (spaces.id + 1) << 32 as high
    from spaces left join search_spaces on search_spaces.account_id = spaces.account_id and search_spaces.space_id = spaces.id
    where spaces.events_made >= :least
        and (search_spaces.space_id is null or search_spaces.embedder <> :embedder or search_spaces.filled_to + :slack <= spaces.events_made)
)
select large.id, large.account_id
from large
where (  -- looks up its first event; `exists` would become a join with all events
        select event_index.id from event_index
        where event_index.account_id = large.account_id and event_index.id >= large.low and event_index.id < large.high
        order by event_index.id limit 1
    ) is not null
order by large.id limit 1;

-- rows_from: The index entries of the first events of a range
select id, session, occurred_ms, words, case when embedder = :embedder then vectors end as vectors,
    case when embedder = :older then vectors end as older_vectors
from event_index where account_id = :account_id and id >= :low and id < :high order by id limit :most;

-- add_space: Start indexing a space
insert into search_spaces (account_id, space_id, embedder) values (:account_id, :space_id, :embedder);

-- add_words: Store the terms of parts
insert into search_words (account_id, space_id, number, part, session, occurred_ms, length, terms)
select :account_id, :space_id, new_rows.number, new_rows.part, new_rows.session, new_rows.occurred_ms, new_rows.length, cast(new_rows.terms as bigint[])
from unnest(
    cast(:numbers as bigint[]), cast(:parts as bigint[]), cast(:sessions as bigint[]), cast(:times_ms as bigint[]), cast(:lengths as bigint[]),
    cast(:terms as text[])
) as new_rows (number, part, session, occurred_ms, length, terms);

-- add_vectors: Store the signs of the vectors of parts
insert into search_vectors (account_id, space_id, number, part, occurred_ms, signs)
select :account_id, :space_id, new_rows.number, new_rows.part, new_rows.occurred_ms, cast(new_rows.signs as bit varying)
from unnest(cast(:numbers as bigint[]), cast(:parts as bigint[]), cast(:times_ms as bigint[]), cast(:signs as text[]))
    as new_rows (number, part, occurred_ms, signs);

-- count_terms: Add to the number of parts that contain these terms
insert into search_terms (account_id, space_id, term, parts)
select :account_id, :space_id, new_rows.term, new_rows.parts from unnest(cast(:terms as bigint[]), cast(:counts as bigint[])) as new_rows (term, parts)
on conflict (account_id, space_id, term) do update set parts = search_terms.parts + excluded.parts;

-- count_space: Update the statistics of a space, and up to where it is indexed
update search_spaces
set filled_to = :filled_to, events = :events, parts = :parts, words = :words, languages = :languages, speakers = :speakers
where account_id = :account_id and space_id = :space_id;

-- clear_some: Delete some indexed parts of a space
delete from search_words where account_id = :account_id and space_id = :space_id and number in (
    select number from search_words where account_id = :account_id and space_id = :space_id order by number limit :most
);

-- delete_terms: Delete the term counts of a space
delete from search_terms where account_id = :account_id and space_id = :space_id;

-- delete_space: Delete the index statistics of a space
delete from search_spaces where account_id = :account_id and space_id = :space_id;

-- unlinked: A space whose vectors need an HNSW index
select space_id, account_id, embedder, parts from search_spaces
where embedder = :embedder and is_linked = 0 and parts > :parts order by space_id limit 1;

-- link_state: Whether an index exists and is valid, and whether it is being built
select pg_index.indisvalid as is_valid,
    exists (select 1 from pg_stat_progress_create_index as made where made.index_relid = pg_index.indexrelid) as is_made
from pg_index where pg_index.indexrelid = to_regclass(:name);

-- note_linked: Record that the HNSW index of a space exists
update search_spaces set is_linked = 1 where account_id = :account_id and space_id = :space_id and embedder = :embedder;

-- orphaned: HNSW indexes of erased spaces or of another embedder
select relname as name from pg_class
where relkind = 'i' and relnamespace = current_schema()::regnamespace and relname ~ '^search_vectors_[0-9]+_[0-9]+$'
    and relname not in (select format('search_vectors_%s_%s', space_id, embedder) from search_spaces);
