-- count_request: Count a request if the allowance of a minute permits it; return the used part of a minute, or no row if refused
insert into rates (kind, who, free_us) values (:kind, :who, :now_us + :every_us)
on conflict (kind, who) do update set free_us = case when rates.free_us > :now_us then rates.free_us else :now_us end + :every_us
where case when rates.free_us > :now_us then rates.free_us - :now_us else 0 end + :every_us <= 60000000
returning free_us - :now_us as owed_us;

-- count_request [postgresql]: by the clock of the database, which is one for all servers
with now as (select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint) as us)
insert into rates (kind, who, free_us) select :kind, :who, now.us + :every_us from now
on conflict (kind, who) do update set free_us = greatest(rates.free_us, excluded.free_us - :every_us) + :every_us
where greatest(rates.free_us - (excluded.free_us - :every_us), 0) + :every_us <= 60000000
returning free_us - (select us from now) as owed_us;

-- used_allowance: The used part of a minute
select case when free_us > :now_us then free_us - :now_us else 0 end as owed_us from rates where kind = :kind and who = :who;

-- used_allowance [postgresql]: by the clock of the database
select greatest(free_us - cast(extract(epoch from clock_timestamp()) * 1000000 as bigint), 0) as owed_us
from rates where kind = :kind and who = :who;

-- delete_idle: Delete callers whose allowance is complete again
delete from rates where free_us <= :now_us;

-- delete_idle [postgresql]: by the clock of the database
delete from rates where free_us <= cast(extract(epoch from clock_timestamp()) * 1000000 as bigint);
