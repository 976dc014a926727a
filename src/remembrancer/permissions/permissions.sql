-- add_grant: Store a grant
insert into grants (grant_id, scope, anchor, glob, actions, agent, key_id, granted_ms, expires_ms)
values (:grant_id, :scope, :anchor, :glob, :actions, :agent, :key_id, :now_ms, :expires_ms);

-- grants_around: Valid grants for an agent whose scope may contain a path, longest-lasting first; none is valid a minute before it was made, or a clock that went back would prolong it
select grant_id, scope, actions, agent, expires_ms
from grants
where anchor in (select value from json_each(:anchors)) and revoked_ms is null and expires_ms > :now_ms and granted_ms <= :now_ms + 60000 and agent in (:agent, '*')
    and (glob is null or glob(glob, :path)) and instr(',' || actions || ',', ',' || :action || ',') > 0
order by expires_ms desc, id;

-- near_grant: A valid grant for an agent with one of these scopes, which have no wildcards
select grant_id, scope
from grants
where anchor in (select value from json_each(:scopes)) and scope = anchor and revoked_ms is null and expires_ms > :now_ms and granted_ms <= :now_ms + 60000
    and agent in (:agent, '*') and instr(',' || actions || ',', ',' || :action || ',') > 0
order by expires_ms desc, id limit 1;

-- live_grants: Valid grants, newest first
select id, grant_id, scope, actions, agent, key_id, granted_ms, expires_ms
from grants
where revoked_ms is null and expires_ms > :now_ms and granted_ms <= :now_ms + 60000 and id < :before
order by id desc limit :most;

-- place_of_grant: The row id of a grant
select id from grants where grant_id = :grant_id;

-- revoked_of: When a grant was revoked, if it exists
select revoked_ms from grants where grant_id = :grant_id;

-- revoke_grant: Revoke a grant
update grants set revoked_ms = :now_ms where grant_id = :grant_id;

-- note_allowed: Record the newest check that allowed an account an action on a path
insert into allowed_checks (grant_id, account_id, action, path, agent, seq) values (:grant_id, :account_id, :action, :path, :agent, :seq)
on conflict (grant_id, account_id, action, path) do update set agent = excluded.agent, seq = excluded.seq;

-- note_allowed [postgresql]: a path may be longer than an index row
insert into allowed_checks (grant_id, account_id, action, path, agent, seq) values (:grant_id, :account_id, :action, :path, :agent, :seq)
on conflict (grant_id, account_id, action, digest_of(path)) do update set agent = excluded.agent, seq = excluded.seq;

-- allowed_check: The newest check that allowed an action
select agent, seq from allowed_checks
where grant_id = :grant_id and account_id = :account_id and action = :action and path = :path;

-- head: The newest entry of the audit trail; number 0 and zeros if it is empty
select seq, hash from audit_head;

-- add_entry: Append an entry to the audit trail
insert into audit (seq, entry, hash) values (:seq, :entry, :hash);

-- entries_from: Entries of the audit trail from a number on, as bytes, because somebody may have stored anything
select seq, cast(entry as blob) as entry, cast(hash as blob) as hash from audit where seq >= :seq order by seq limit :most;

-- entries_before: Entries below a number that match the filters, newest first
select seq, cast(entry as blob) as entry, cast(hash as blob) as hash
from audit
where seq < :before and seq >= :since
    and (cast(:kind as text) is null or case when json_valid(entry) then json_extract(entry, '$.kind') end = :kind)
    and (cast(:agent as text) is null or case when json_valid(entry) then json_extract(entry, '$.agent') end = :agent)
    and (cast(:grant_id as text) is null or case when json_valid(entry) then json_extract(entry, '$.grant_id') end = :grant_id)
    and (cast(:path as text) is null
        or instr(case when json_valid(entry) then coalesce(json_extract(entry, '$.path'), json_extract(entry, '$.scope')) end, :path) > 0)
order by seq desc limit :most;

-- note_team_entry: Record that an entry of the audit trail is about a team
insert into team_audit (account_id, seq) values (:account_id, :seq);

-- entries_of_team: Entries about a team below a number, newest first
select audit.seq, cast(audit.entry as blob) as entry, cast(audit.hash as blob) as hash
from team_audit join audit on audit.seq = team_audit.seq
where team_audit.account_id = :account_id and team_audit.seq < :before order by team_audit.seq desc limit :most;
