-- account_texts: The texts of an account's cubes after an id
select id, topic, essence, rules from cubes where account_id = :account_id and id > :after order by id;

-- account_cubes: An account's cubes of one status or of all, with how turns of the account that used each ended, oldest first
select cubes.id, cubes.cube_id, cubes.kind, cubes.topic, cubes.essence, cubes.rules, cubes.evidence, cubes.status, cubes.useful, cubes.useless,
    cubes.expires_ms, coalesce(ended.helped, 0) as helped, coalesce(ended.failed, 0) as failed
from cubes left join (
    select cube, sum(case when outcome = 1 then 1 else 0 end) as helped, sum(case when outcome = 0 then 1 else 0 end) as failed
    from shown_cubes where account_id = :account_id and used is not null group by cube
) as ended on ended.cube = cubes.id
where cubes.account_id = :account_id and cubes.merged_into is null and (cast(:status as text) is null or cubes.status = :status)
order by cubes.id;
