-- Whose a row is stands in the row: every query on what accounts keep names the account, and a store that is spread over several machines is spread by it.

alter table sessions add column account_id integer not null default 0;       -- of its space; no account has the number 0
alter table events add column account_id integer not null default 0;
alter table event_index add column account_id integer not null default 0;
alter table origins add column account_id integer not null default 0;
alter table answers add column account_id integer not null default 0;
alter table summaries add column account_id integer not null default 0;
alter table maps add column account_id integer not null default 0;
alter table facts add column account_id integer not null default 0;
alter table shown_cubes add column account_id integer not null default 0;
alter table shown_events add column account_id integer not null default 0;
alter table steps add column account_id integer not null default 0;
alter table closed_duties add column account_id integer not null default 0;
alter table memory_files add column account_id integer not null default 0;
alter table looks add column account_id integer not null default 0;

update sessions set account_id = (select spaces.account_id from spaces where spaces.id = sessions.space_id);
update events set account_id = (select spaces.account_id from spaces where spaces.id = events.id >> 32);
update event_index set account_id = (select spaces.account_id from spaces where spaces.id = event_index.id >> 32);
update origins set account_id = (select spaces.account_id from spaces where spaces.id = origins.space_id);
update answers set account_id = (select keys.account_id from keys where keys.id = answers.key_id);
update summaries set account_id = (select spaces.account_id from spaces where spaces.id = summaries.space_id);
update maps set account_id = (select spaces.account_id from spaces where spaces.id = maps.space_id);
update facts set account_id = (select spaces.account_id from spaces where spaces.id = facts.space_id);
update shown_cubes set account_id = (select sessions.account_id from sessions where sessions.id = shown_cubes.session);
update shown_events set account_id = (select sessions.account_id from sessions where sessions.id = shown_events.session);
update steps set account_id = (select sessions.account_id from sessions where sessions.id = steps.session);
update closed_duties set account_id = (select sessions.account_id from sessions where sessions.id = closed_duties.session);
update memory_files set account_id = (select spaces.account_id from spaces where spaces.id = memory_files.space_id);
update looks set account_id = (select sessions.account_id from sessions where sessions.id = looks.session);

create index answers_created on answers (key_id, created_ms);             -- those that are no longer kept go with each write that adds one
