-- columns: Written columns of every table, with their place in the key (0 = none) and whether the key has a digest of it
select tables.name as "table", columns.name as "column", columns.pk as key_place, 0 as is_digest
from pragma_table_list as tables join pragma_table_xinfo(tables.name) as columns
where tables.schema = 'main' and tables.type = 'table' and tables.name not like 'sqlite\_%' escape '\' and columns.hidden = 0
order by tables.name, columns.cid;

-- columns [postgresql]: a key with long text is a unique index on the text's digest
with tables as (
    select pg_class.oid, relname, (
        select indexrelid from pg_index
        where indrelid = pg_class.oid and indisunique and indpred is null order by indisprimary desc, indexrelid limit 1
    ) as key
    from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
), places as (
    select tables.oid, place, pg_get_indexdef(key, place, true) as indexed
    from tables join pg_index on indexrelid = key cross join generate_series(1, indnkeyatts) as place
)
select
    relname::text as "table", attname::text as "column", coalesce(place, 0) as key_place,
    coalesce(indexed <> quote_ident(attname), false) as is_digest
from tables
join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped and attgenerated = ''
left join places on places.oid = tables.oid and indexed in (quote_ident(attname), format('digest_of(%s)', quote_ident(attname)))
order by relname, attnum;

-- references: Tables and the tables they refer to
select distinct tables.name as "table", named."table" as named
from pragma_table_list as tables join pragma_foreign_key_list(tables.name) as named
where tables.schema = 'main' and tables.type = 'table';

-- references [postgresql]: the same
select distinct tables.relname::text as "table", named.relname::text as named
from pg_constraint
join pg_class as tables on tables.oid = conrelid
join pg_class as named on named.oid = confrelid
where contype = 'f' and tables.relnamespace = current_schema()::regnamespace and conparentid = 0;

-- sequences: Columns numbered by a sequence; SQLite uses the largest value instead
select '' as "table", '' as "column" where 0;

-- sequences [postgresql]: the same
select table_name::text as "table", column_name::text as "column"
from information_schema.columns where table_schema = current_schema() and is_identity = 'YES';

-- advance_sequence: Set a sequence behind the largest value
select 1 where :table is null and :column is null and :newest is null;

-- advance_sequence [postgresql]: the same
select setval(pg_get_serial_sequence(quote_ident(:table), :column), greatest(:newest, 1), :newest > 0);

-- has_table: Return a row if the table exists
select 1 from sqlite_schema where type = 'table' and name = :table;

-- has_table [postgresql]: the same
select 1 from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and relname = :table;

-- stores_nul: Return 1 if texts may contain NUL
select 1 as stores;

-- stores_nul [postgresql]: its texts may not
select 0 as stores;

-- be_patient: Lift the time limits of this transaction
select 1;

-- be_patient [postgresql]: the limits would end it after a long statement or pause
select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true);
