-- Whose a private cube is: its user's alone, unless it was made for the account.

alter table cubes add column user_id text;
alter table cubes add column for_account bigint not null default 0;
set local remembrancer.account_id = '0';  -- row security: of all accounts
update cubes set user_id = coalesce(
    (select spaces.user_id from sessions join spaces on spaces.id = sessions.space_id where sessions.id = cubes.session),
    (select accounts.name from accounts where accounts.id = cubes.account_id)
);
drop index cubes_private;
create index cubes_private on cubes (account_id, user_id, id) where status = 'private';
create index cubes_of_account on cubes (account_id, id) where status = 'private' and for_account = 1;
