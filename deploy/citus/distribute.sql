-- Distribute a store by account over the workers of a Citus cluster. See docs/guides/several-servers.md.
-- Run it on the coordinator as the role that owns the store, with the servers stopped:
--   psql "$STORE" --file deploy/citus/distribute.sql
-- A repeated run distributes tables added by a later version. Existing rows are moved.

\set ON_ERROR_STOP on
set client_min_messages = warning;

begin;
set local citus.multi_shard_modify_mode = 'sequential'; -- one connection per worker
set local remembrancer.account_id = 0;                  -- row-level security: select the rows of all accounts

create temporary table plan (
    ordinal bigint generated always as identity, name text, is_distributed boolean
) on commit drop;
-- Small or shared tables that are joined with account data: replicated on each worker.
insert into plan (name, is_distributed)
select unnest(array['accounts', 'keys', 'embedders', 'cubes', 'cube_index', 'cube_revision', 'ratings', 'teams', 'team_members', 'team_invitations']), false;
-- Account data: all rows of one account are on one worker.
insert into plan (name, is_distributed)
select unnest(array[
    'spaces', 'sessions', 'events', 'event_index', 'origins', 'answers', 'summaries', 'maps', 'facts', 'fact_sources', 'fact_keys', 'event_keys', 'event_changes', 'retention', 'sweeps', 'layer_index', 'prompts', 'session_users', 'shown_cubes', 'shown_events', 'steps',
    'closed_duties', 'looks', 'memory_files', 'team_audit', 'search_spaces', 'search_words', 'search_terms', 'search_vectors'
]), true;
delete from plan where to_regclass(name) is null; -- the vector table exists only with pgvector
delete from plan using citus_tables where table_name = to_regclass(name) and citus_table_type in ('distributed', 'reference');

-- Remove references and restore them at the end. Otherwise Citus adds the referenced tables to its
-- metadata and refuses to distribute them.
create temporary table removed_constraints on commit drop as
select conrelid::regclass as "table", conname, pg_get_constraintdef(oid) as definition
from pg_constraint
where contype = 'f' and connamespace = current_schema()::regnamespace
    and (conrelid in (select to_regclass(name) from plan) or confrelid in (select to_regclass(name) from plan));

do $$
declare
    item record;
begin
    for item in select * from removed_constraints loop
        execute format('alter table %s drop constraint %I', item."table", item.conname);
    end loop;
    for item in select * from plan order by ordinal loop
        if item.is_distributed then
            perform create_distributed_table(item.name, 'account_id', colocate_with := case item.name when 'spaces' then 'none' else 'spaces' end);
        else
            perform create_reference_table(item.name);
        end if;
    end loop;
    for item in select * from removed_constraints loop
        execute format('alter table %s add constraint %I %s', item."table", item.conname, item.definition);
    end loop;
    -- Create the SQLite functions used by queries on the workers. Those of policies and indexes
    -- already exist.
    for item in select oid::regprocedure as name from pg_proc
        where pronamespace = current_schema()::regnamespace and proname in ('instr', 'glob', 'json_each', 'json_extract', 'json_valid')
    loop
        perform create_distributed_function(item.name);
    end loop;
    -- Propagate the account of a transaction to the workers, whose policies need it.
    execute format('alter database %I set citus.propagate_set_commands = ''local''', current_database());
end
$$;
commit;

select table_name, citus_table_type, distribution_column, shard_count from citus_tables order by citus_table_type, table_name::text;
