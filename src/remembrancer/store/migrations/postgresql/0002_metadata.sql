-- Metadata of turns and facts, and an index of its values, by which filters find them.

alter table events add column metadata text;
alter table facts add column metadata text;

create table metadata_values (
    account_id bigint not null,
    space_id bigint not null,
    kind bigint not null,
    key text collate "C" not null,
    value text collate "C" not null,
    item bigint not null,
    primary key (account_id, space_id, kind, key, value, item)
);
create index metadata_values_item on metadata_values (account_id, kind, item);
alter table metadata_values enable row level security, force row level security;
create policy of_account on metadata_values using (account_in_view() in (account_id, 0));

-- No feature of a search reads the sums of log(1 + length) and of its square any more.
alter table search_spaces drop column logs, drop column squares;
