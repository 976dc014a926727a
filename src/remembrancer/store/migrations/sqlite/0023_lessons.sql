-- What became of the cubes that sessions were shown: use, outcome, and those that a field trial withheld. Cubes that say the same are merged.
alter table shown_cubes add column shown_ms integer not null default 0;
alter table shown_cubes add column is_new integer not null default 1;     -- 1: shown as new, so that a rating is owed
alter table shown_cubes add column trial integer;        -- of the field trial, drawn at random: 0: shown, 1: withheld; null: it took no part
alter table shown_cubes add column used text;          -- how the answer used it: cited, followed or rated; null: no sign of use
alter table shown_cubes add column outcome integer;    -- 1: the turn ended well, 0: badly; null: nothing says so
alter table shown_cubes add column signals text;       -- words for what said so, with commas
alter table shown_cubes add column settled_ms integer; -- when outcome was decided; null: not yet
update shown_cubes set settled_ms = 0;                 -- nobody looked how those ended
create index shown_cubes_of_cube on shown_cubes (account_id, cube);
create index shown_cubes_open on shown_cubes (shown_ms) where settled_ms is null;

alter table cubes add column merged_into integer;  -- id of the cube that says the same, or improves this one, and is served in its place
create index cubes_merged on cubes (merged_into) where merged_into is not null;
