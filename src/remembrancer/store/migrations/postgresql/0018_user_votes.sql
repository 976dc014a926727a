-- One rating of each user and cube; before, one of each account. An existing rating goes to the account's only user,
-- else to the user of requests without a user_id, who is named like the account.
alter table ratings add column user_id text collate "C";  -- of a forgotten user: erased_ and a random id
update ratings set user_id = coalesce(
    (
        select max(spaces.user_id) from spaces
        where spaces.account_id = ratings.account_id and substr(spaces.user_id, 1, 7) <> 'erased_' having count(*) = 1
    ), accounts.name
)
from accounts where accounts.id = ratings.account_id;
alter table ratings alter column user_id set not null;
alter table ratings drop constraint ratings_pkey, add primary key (cube, account_id, user_id);
create index ratings_user on ratings (account_id, user_id, vote, cube);
