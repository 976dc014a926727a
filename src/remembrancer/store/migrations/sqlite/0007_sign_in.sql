-- Sign-in for people: passwords, browsers that are signed in, and links that set a password.

create table passwords (
    account_id integer primary key references accounts (id),
    hash text not null,               -- argon2id, with its salt and costs
    changed_ms integer not null
);

create table browser_sessions (
    digest blob primary key,          -- SHA-256 of what the cookie holds; that itself is not kept
    account_id integer not null references accounts (id),
    created_ms integer not null,
    used_ms integer not null
) without rowid;

create index browser_sessions_account on browser_sessions (account_id);

create table invitations (            -- links that set the password of an account, each once
    digest blob primary key,
    account_id integer not null references accounts (id),
    expires_ms integer not null
) without rowid;

create table sign_in_failures (       -- of names, whether there is such an account or not
    digest blob primary key,          -- SHA-256 of the name
    failures integer not null,        -- in a row
    last_ms integer not null
) without rowid;
