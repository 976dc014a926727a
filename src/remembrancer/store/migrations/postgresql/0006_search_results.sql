-- What a counted search gave, for the console: null for searches before this version.

alter table steps add column answerable double precision;
alter table steps add column ms double precision;
alter table steps add column characters bigint;
alter table steps add column got text;
alter table steps add column review bigint not null default 0;
