-- kept: What the database has of a space for searching it
select embedder, filled_to, is_linked, events, parts, words, logs, squares, languages, speakers
from search_spaces where account_id = :account_id and space_id = :space_id;

-- kept_by: The same, as far as this embedder made it
select filled_to from search_spaces where account_id = :account_id and space_id = :space_id and embedder = :embedder;

-- prepare: Let this transaction look through indexes, and through as much of one as an answer needs
select set_config('enable_seqscan', 'off', true), set_config('hnsw.ef_search', cast(cast(:breadth as bigint) as text), true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true);

-- frequencies: In how many parts of a space each of some terms is
select term, parts from search_terms where account_id = :account_id and space_id = :space_id and term = any (cast(:terms as bigint[]));

-- nearest: The events of a space whose vectors are in most signs as the one asked for, and the one that is in fewest (512 stands for the dimensions)
(
    select number, 0 as is_farthest from search_vectors
    where account_id = :account_id and space_id = :space_id and occurred_ms >= :after_ms and occurred_ms < :before_ms
    order by signs::bit(512) <~> (select cast(cast(:asked as text) as bit(512))) limit :most
)
union all
(
    select number, 1 as is_farthest from search_vectors
    where account_id = :account_id and space_id = :space_id and occurred_ms >= :after_ms and occurred_ms < :before_ms
    order by signs::bit(512) <~> (select ~cast(cast(:asked as text) as bit(512))) limit 1
);

-- matching: The events of a space whose parts score best by the words of a question, of those that hold a term or both of a pair of them
select found.number
from (
    select distinct on (held.number, held.part) held.number, held.part, held.length, held.terms
    from unnest(cast(:ones as bigint[]), cast(:others as bigint[]), cast(:limits as bigint[])) as pair (one, other, most)
    cross join lateral (
        select number, part, length, terms from search_words  -- by its terms alone, which name the space: no other index is to be taken
        where terms @> array[pair.one, pair.other] and account_id + 0 = :account_id and space_id + 0 = :space_id
            and occurred_ms >= :after_ms and occurred_ms < :before_ms
        limit pair.most
    ) as held
) as found
cross join lateral (
    select sum(word.gain) as gain from unnest(cast(:terms as bigint[]), cast(:gains as double precision[])) as word (term, gain)
    where word.term = any (found.terms)
) as scored
order by scored.gain / (cast(:norm as double precision) + cast(:norm_word as double precision) * found.length) desc, found.number desc limit :most;

-- holding: The same, of those that hold one of each of four sets of terms
select found.number
from (
    select number, part, length, terms from search_words
    where terms && cast(:first as bigint[]) and terms && cast(:second as bigint[])
        and terms && cast(:third as bigint[]) and terms && cast(:fourth as bigint[])
        and account_id + 0 = :account_id and space_id + 0 = :space_id and occurred_ms >= :after_ms and occurred_ms < :before_ms
    limit :each
) as found
cross join lateral (
    select sum(word.gain) as gain from unnest(cast(:terms as bigint[]), cast(:gains as double precision[])) as word (term, gain)
    where word.term = any (found.terms)
) as scored
order by scored.gain / (cast(:norm as double precision) + cast(:norm_word as double precision) * found.length) desc, found.number desc limit :most;

-- beside: For each of some events, the two before it in its session, itself, and the two after it, as far as the database has them
select asked.number as center, near.number
from unnest(cast(:numbers as bigint[]), cast(:ids as bigint[])) as asked (number, id)
join event_index on event_index.account_id = :account_id and event_index.id = asked.id  -- nothing reckoned: under row security that is no key
cross join lateral (
    (
        select number from search_words
        where session = event_index.session and part = 0 and number < asked.number and account_id = :account_id and space_id = :space_id
        order by number desc limit 2
    )
    union all
    (
        select number from search_words
        where session = event_index.session and part = 0 and number >= asked.number and account_id = :account_id and space_id = :space_id
        order by number limit 3
    )
) as near
order by asked.number, near.number;

-- rows: What search derives from some events, vectors only where this embedder made them
select id, session, occurred_ms, words, case when embedder = :embedder then vectors end as vectors
from event_index where account_id = :account_id and id = any (cast(:ids as bigint[])) order by id;

-- behind: A large space of which the database has not all, or what another embedder made
with large as materialized (  -- so that its bounds are keys: reckoned beside `event_index` they are none under row security
    select spaces.id, spaces.account_id, spaces.id << 32 as low, (spaces.id + 1) << 32 as high
    from spaces left join search_spaces on search_spaces.account_id = spaces.account_id and search_spaces.space_id = spaces.id
    where spaces.events_made >= :least
        and (search_spaces.space_id is null or search_spaces.embedder <> :embedder or search_spaces.filled_to + :slack <= spaces.events_made)
)
select large.id, large.account_id
from large
where (  -- its first event, which is looked up; `exists` would be a join with all events there are
        select event_index.id from event_index
        where event_index.account_id = large.account_id and event_index.id >= large.low and event_index.id < large.high
        order by event_index.id limit 1
    ) is not null
order by large.id limit 1;

-- rows_from: The first so many events of a range, as search derives them
select id, session, occurred_ms, words, case when embedder = :embedder then vectors end as vectors
from event_index where account_id = :account_id and id >= :low and id < :high order by id limit :most;

-- add_space: Begin to keep a space for searching it by the database
insert into search_spaces (account_id, space_id, embedder) values (:account_id, :space_id, :embedder);

-- add_words: Keep the terms of parts
insert into search_words (account_id, space_id, number, part, session, occurred_ms, length, terms)
select :account_id, :space_id, given.number, given.part, given.session, given.occurred_ms, given.length, cast(given.terms as bigint[])
from unnest(
    cast(:numbers as bigint[]), cast(:parts as bigint[]), cast(:sessions as bigint[]), cast(:times_ms as bigint[]), cast(:lengths as bigint[]),
    cast(:terms as text[])
) as given (number, part, session, occurred_ms, length, terms);

-- add_vectors: Keep the signs of the vectors of parts
insert into search_vectors (account_id, space_id, number, part, occurred_ms, signs)
select :account_id, :space_id, given.number, given.part, given.occurred_ms, cast(given.signs as bit varying)
from unnest(cast(:numbers as bigint[]), cast(:parts as bigint[]), cast(:times_ms as bigint[]), cast(:signs as text[]))
    as given (number, part, occurred_ms, signs);

-- count_terms: So many more parts of a space hold these terms
insert into search_terms (account_id, space_id, term, parts)
select :account_id, :space_id, given.term, given.parts from unnest(cast(:terms as bigint[]), cast(:counts as bigint[])) as given (term, parts)
on conflict (account_id, space_id, term) do update set parts = search_terms.parts + excluded.parts;

-- count_space: What the database has of a space, as it is now
update search_spaces
set filled_to = :filled_to, events = :events, parts = :parts, words = :words, logs = :logs, squares = :squares, languages = :languages,
    speakers = :speakers
where account_id = :account_id and space_id = :space_id;

-- clear_some: Erase some of what the database has of a space
delete from search_words where account_id = :account_id and space_id = :space_id and number in (
    select number from search_words where account_id = :account_id and space_id = :space_id order by number limit :most
);

-- erase_terms: Erase the counts of its terms
delete from search_terms where account_id = :account_id and space_id = :space_id;

-- erase_space: Nothing of a space is kept for searching it
delete from search_spaces where account_id = :account_id and space_id = :space_id;

-- unlinked: A space whose vectors are to have an index
select space_id, account_id, embedder, parts from search_spaces
where embedder = :embedder and is_linked = 0 and parts > :parts order by space_id limit 1;

-- link_state: Whether an index is there and works, and whether it is being made
select pg_index.indisvalid as is_valid,
    exists (select 1 from pg_stat_progress_create_index as made where made.index_relid = pg_index.indexrelid) as is_made
from pg_index where pg_index.indexrelid = to_regclass(:name);

-- note_linked: The vectors of a space have their index
update search_spaces set is_linked = 1 where account_id = :account_id and space_id = :space_id and embedder = :embedder;

-- orphaned: Indexes of the vectors of spaces that are gone, or of another embedder
select relname as name from pg_class
where relkind = 'i' and relnamespace = current_schema()::regnamespace and relname ~ '^search_vectors_[0-9]+_[0-9]+$'
    and relname not in (select format('search_vectors_%s_%s', space_id, embedder) from search_spaces);
