-- Keys without the protocol: every call of theirs is a pure read or write, and owes nothing.
alter table keys add column protocol bigint not null default 1;
-- Turns of `remember` since the last L1 of the session, and those after a counted search since its last cube or cube_nothing.
alter table sessions add column turns_without_l1 bigint not null default 0;
alter table sessions add column turns_without_cube bigint not null default 0;
update sessions set turns_without_l1 = (
    select count(*) from events where events.account_id = sessions.account_id and events.session = sessions.id and events.step is not null and events.superseded_by is null
        and events.created_ms > coalesce((
            select max(summaries.created_ms) from summaries where summaries.account_id = sessions.account_id and summaries.session = sessions.id
        ), -1)
), turns_without_cube = (
    select count(*) from events where events.account_id = sessions.account_id and events.session = sessions.id and events.step > 0 and events.superseded_by is null
        and events.created_ms > coalesce((
            select max(closed_duties.created_ms) from closed_duties
            where closed_duties.account_id = sessions.account_id and closed_duties.session = sessions.id and closed_duties.duty = 'cube_nothing'
        ), -1)
);

-- A team is an account without keys; its members' accounts work in its one space.
create table teams (
    account_id bigint primary key references accounts (id),
    team_id text collate "C" not null unique,          -- also the account's name, and the user_id of its space
    name text not null,                    -- '' once it is deleted
    created_ms bigint not null,
    deleted_ms bigint
);
create table team_members (
    account_id bigint not null references teams (account_id),
    member_account bigint not null references accounts (id),
    user_id text collate "C" not null,                 -- the one user of that account; '': all of its users
    member_id text collate "C" not null,
    role text not null check (role in ('reader', 'writer', 'owner')),
    joined_ms bigint not null,
    primary key (account_id, member_account, user_id)
);
create index team_members_account on team_members (member_account);
create unique index team_members_member_id on team_members (account_id, member_id);
create table team_invitations (
    account_id bigint not null references teams (account_id),
    invitation_id text collate "C" not null,
    digest bytea not null,                 -- of the token
    role text not null check (role in ('reader', 'writer', 'owner')),
    invited_by text not null,              -- name of an account
    created_ms bigint not null,
    expires_ms bigint not null,
    primary key (account_id, invitation_id)
);
create table team_audit (                  -- entries of the audit trail that are about a team
    account_id bigint not null references teams (account_id),
    seq bigint not null,
    primary key (account_id, seq)
);
create unique index team_invitations_digest on team_invitations (digest);

-- A member sees its own memberships, a team all of its members. Teams and their names are under no policy, as accounts are.
alter table team_members enable row level security, force row level security;
create policy of_account on team_members using (account_in_view() in (account_id, member_account, 0));
alter table team_invitations enable row level security, force row level security;
create policy of_account on team_invitations using (account_in_view() in (account_id, 0));
alter table team_audit enable row level security, force row level security;
create policy of_account on team_audit using (account_in_view() in (account_id, 0));

-- Who wrote a turn or a fact of a team: an account, and its user.
alter table events add column author_account bigint;
alter table events add column author_user text;
alter table facts add column author_account bigint;
alter table facts add column author_user text;
