-- take_call: Count a call when the allowance of a minute holds it; gives how much of a minute is used up, nothing when it is refused
insert into rates (kind, who, free_us) values (:kind, :who, :now_us + :every_us)
on conflict (kind, who) do update set free_us = case when rates.free_us > :now_us then rates.free_us else :now_us end + :every_us
where case when rates.free_us > :now_us then rates.free_us - :now_us else 0 end + :every_us <= 60000000
returning free_us - :now_us as owed_us;

-- take_call [postgresql]: by the clock of the database, which is one for all servers
with now as (select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint) as us)
insert into rates (kind, who, free_us) select :kind, :who, now.us + :every_us from now
on conflict (kind, who) do update set free_us = greatest(rates.free_us, excluded.free_us - :every_us) + :every_us
where greatest(rates.free_us - (excluded.free_us - :every_us), 0) + :every_us <= 60000000
returning free_us - (select us from now) as owed_us;

-- owed: How much of a minute somebody has used up
select case when free_us > :now_us then free_us - :now_us else 0 end as owed_us from rates where kind = :kind and who = :who;

-- owed [postgresql]: by the clock of the database
select greatest(free_us - cast(extract(epoch from clock_timestamp()) * 1000000 as bigint), 0) as owed_us
from rates where kind = :kind and who = :who;

-- forget_idle: Those who have their whole allowance back
delete from rates where free_us <= :now_us;

-- forget_idle [postgresql]: by the clock of the database
delete from rates where free_us <= cast(extract(epoch from clock_timestamp()) * 1000000 as bigint);
