-- Pages of the console: turns by the time they belong to, imported turns, and feedback that is closed.
create index events_session_occurred on events (session, occurred_ms);  -- the turns of a session as they are shown
create index origins_event on origins (event) where event > 0;           -- whether an import brought a turn

alter table feedback add column closed_ms integer;  -- null: open
alter table feedback add column note text;          -- what the owner answered
