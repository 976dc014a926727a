-- Spread a store by account over the workers of a Citus cluster: docs/guides/shards.md says when and how.
--   psql "$STORE" --file deploy/citus/distribute.sql     (on the coordinator, as the role that owns the store, with its servers stopped)
-- Run again, it spreads what a later version added and leaves the rest alone. Rows that are there already are moved along.

\set ON_ERROR_STOP on
set client_min_messages = warning;

begin;
set local citus.multi_shard_modify_mode = 'sequential'; -- one connection a worker, as all of this is one transaction
set local remembrancer.account_id = 0;                  -- policies on rows: this is about all of them

create temporary table plan (place bigint generated always as identity, name text, spread boolean) on commit drop;
-- Small, and joined with what accounts keep, or everybody's: a copy on each worker.
insert into plan (name, spread)
select unnest(array['accounts', 'keys', 'embedders', 'cubes', 'cube_index', 'ratings']), false;
-- What accounts keep: the rows of one account are on one worker, beside each other.
insert into plan (name, spread)
select unnest(array[
    'spaces', 'sessions', 'events', 'event_index', 'origins', 'answers', 'summaries', 'maps', 'facts', 'prompts', 'shown_cubes', 'shown_events', 'steps',
    'closed_duties', 'looks', 'memory_files', 'search_spaces', 'search_words', 'search_terms', 'search_vectors'
]), true;
delete from plan where to_regclass(name) is null; -- the vectors' table is there only with their extension
delete from plan using citus_tables where table_name = to_regclass(name) and citus_table_type in ('distributed', 'reference');

-- References are taken away and put back: Citus would otherwise add the tables at their ends to its metadata, and then no longer spread them.
create temporary table taken on commit drop as
select conrelid::regclass as "table", conname, pg_get_constraintdef(oid) as definition
from pg_constraint
where contype = 'f' and connamespace = current_schema()::regnamespace
    and (conrelid in (select to_regclass(name) from plan) or confrelid in (select to_regclass(name) from plan));

do $$
declare
    one record;
begin
    for one in select * from taken loop
        execute format('alter table %s drop constraint %I', one."table", one.conname);
    end loop;
    for one in select * from plan order by place loop
        if one.spread then
            perform create_distributed_table(one.name, 'account_id', colocate_with := case one.name when 'spaces' then 'none' else 'spaces' end);
        else
            perform create_reference_table(one.name);
        end if;
    end loop;
    for one in select * from taken loop
        execute format('alter table %s add constraint %I %s', one."table", one.conname, one.definition);
    end loop;
    -- The words of SQLite that queries use, on the workers too. Those of policies and indexes are there already.
    for one in select oid::regprocedure as name from pg_proc
        where pronamespace = current_schema()::regnamespace and proname in ('instr', 'glob', 'json_each', 'json_extract', 'json_valid')
    loop
        perform create_distributed_function(one.name);
    end loop;
    -- Whose transaction it is must reach the workers, whose policies ask for it.
    execute format('alter database %I set citus.propagate_set_commands = ''local''', current_database());
end
$$;
commit;

select table_name, citus_table_type, distribution_column, shard_count from citus_tables order by citus_table_type, table_name::text;
