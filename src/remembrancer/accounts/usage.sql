-- count_usage: Add to a counter of a key and day
insert into usage (day, account_id, key_id, kind, count) values (:day, :account_id, :key_id, :kind, :count)
on conflict (day, account_id, key_id, kind) do update set count = usage.count + excluded.count;

-- usage_of_days: Counts by kind and day since a day, of one account or all
select day, kind, sum(count) as count from usage
where day >= :since and account_id = coalesce(:account_id, account_id)
group by day, kind order by day, kind;

-- usage_of_keys: Counts by kind and key since a day
select accounts.name as account, usage.key_id, keys.hint, keys.label, usage.kind, sum(usage.count) as count
from usage join accounts on accounts.id = usage.account_id left join keys on keys.id = usage.key_id
where usage.day >= :since and usage.account_id = coalesce(:account_id, usage.account_id)
group by accounts.name, usage.key_id, keys.hint, keys.label, usage.kind order by accounts.name, usage.key_id;
