-- Created files: rows here, contents in the blob store under their SHA-256.

create table files (
    id integer primary key,
    filename text not null unique,    -- as it is downloaded: name, 12 hex, extension
    account_id integer not null references accounts (id),
    user_id text,                     -- the pin of the key that made it
    blob text not null,               -- SHA-256 of its content, hex
    size_bytes integer not null,
    created_ms integer not null
);

create index files_blob on files (blob);

create table file_usage (             -- what the files of an account count for, against its quota
    account_id integer primary key references accounts (id),
    charged_bytes integer not null
);
