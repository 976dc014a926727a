-- What near duplicates have in common, and which event an event repeats.
alter table events
    add column twin bigint,                          -- a digest of the normalised turn; null: not known
    add column repeats bigint;                       -- id of the first event with the same twin; null: none
create index events_twin on events (account_id, twin, id) where twin is not null;
