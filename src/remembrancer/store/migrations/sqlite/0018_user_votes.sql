-- One rating of each user and cube; before, one of each account. An existing rating goes to the account's only user,
-- else to the user of requests without a user_id, who is named like the account.
create table user_ratings (           -- 0 = not relevant, which is no vote
    cube integer not null references cubes (id),
    account_id integer not null references accounts (id),
    user_id text not null,                -- of a forgotten user: erased_ and a random id
    vote integer not null check (vote in (-1, 0, 1)),
    reason text,
    rated_ms integer not null,
    primary key (cube, account_id, user_id)
);
insert into user_ratings (cube, account_id, user_id, vote, reason, rated_ms)
select ratings.cube, ratings.account_id, coalesce(
    (
        select max(spaces.user_id) from spaces
        where spaces.account_id = ratings.account_id and substr(spaces.user_id, 1, 7) <> 'erased_' having count(*) = 1
    ), accounts.name
), ratings.vote, ratings.reason, ratings.rated_ms
from ratings join accounts on accounts.id = ratings.account_id;
drop table ratings;
alter table user_ratings rename to ratings;
create index ratings_user on ratings (account_id, user_id, vote, cube);
