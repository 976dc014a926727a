-- Who the texts come from: 0 the user, 1 a model, 2 a tool, 3 a file, 4 an import, 5 another.

alter table events add column query_source bigint not null default 0;
alter table events add column response_source bigint not null default 1;
alter table facts add column source bigint not null default 0;
alter table summaries add column source bigint not null default 1;
alter table maps add column source bigint not null default 1;
alter table cubes add column source bigint not null default 1;

-- What came with a turn and was not recognised in it was written by the model of the turn.
update facts set source = 1 where origin = 0 and event is not null;
