-- What a counted search gave, for the console: null for searches before this version.

alter table steps add column answerable real;                    -- how likely it was that a turn answers
alter table steps add column ms real;                            -- that the search took
alter table steps add column characters integer;                 -- of the texts in the answer
alter table steps add column got text;                           -- hits as JSON: event_ids with scores, best first
alter table steps add column review integer not null default 0;  -- by a person: 1 answered since, 2 no question for memory
