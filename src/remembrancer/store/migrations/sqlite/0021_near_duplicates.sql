-- What near duplicates have in common, and which event an event repeats.
alter table events add column twin integer;          -- a digest of the normalised turn; null: not known
alter table events add column repeats integer;       -- id of the first event with the same twin; null: none
create index events_twin on events (twin, id) where twin is not null;
