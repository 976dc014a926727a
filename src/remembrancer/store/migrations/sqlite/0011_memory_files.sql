-- Files that agents keep under /memories, every version of them.

alter table spaces add column file_bytes integer not null default 0;  -- of all versions of its files together, as they are counted
alter table spaces add column file_changes integer not null default 0;  -- goes up with each of their changes, and when some are forgotten

create table memory_files (           -- one row a change of a path; what is there now is its row that is current
    id integer primary key,
    space_id integer not null references spaces (id),
    path text not null,
    version integer not null,         -- of this path, from 1
    is_current integer not null,
    change text not null,             -- create, str_replace, insert, delete or rename
    other_path text,                  -- of a rename: where it came from, or went to
    bytes integer not null,           -- of its text
    flags text not null,              -- what was noticed in it, in words with commas between
    key_id integer not null,          -- 0 = a signed-in browser, or the machine itself
    created_ms integer not null,
    text text,                        -- null = nothing is here from this version on; last, so that lists read past none
    unique (space_id, path, version)
);

create unique index memory_files_current on memory_files (space_id, path) where is_current = 1;
create index memory_files_space on memory_files (space_id, id);
