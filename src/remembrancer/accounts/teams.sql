-- memberships: The teams in which an account, or one of its users, is a member, oldest first
select teams.account_id as team_account, teams.team_id, teams.name, teams.created_ms, team_members.member_id, team_members.user_id, team_members.role
from team_members join teams on teams.account_id = team_members.account_id
where team_members.member_account = :account_id and teams.deleted_ms is null
    and (cast(:user_id as text) is null or team_members.user_id in ('', :user_id))
order by teams.account_id;

-- membership: The memberships of an account in a team, named by its id or its name
select teams.account_id as team_account, teams.team_id, teams.name, teams.created_ms, team_members.member_id, team_members.user_id, team_members.role
from team_members join teams on teams.account_id = team_members.account_id
where team_members.member_account = :account_id and teams.deleted_ms is null and (teams.team_id = :team or teams.name = :team)
    and (cast(:user_id as text) is null or team_members.user_id in ('', :user_id))
order by teams.account_id;

-- add_team: Create a team; its account exists
insert into teams (account_id, team_id, name, created_ms) values (:account_id, :team_id, :name, :now_ms);

-- inherit_outside_models: Allow models on other machines in a team if they are allowed for the account that creates it
update accounts set outside_models = (select creators.outside_models from accounts as creators where creators.id = :creator) where id = :team_account;

-- rename_team: Change the name of a team
update teams set name = :name where account_id = :account_id;

-- bury_team: Record that a team is deleted; its row says that the account was a team
update teams set name = '', deleted_ms = :now_ms where account_id = :account_id;

-- add_member: Add a member
insert into team_members (account_id, member_account, user_id, member_id, role, joined_ms)
values (:account_id, :member_account, :user_id, :member_id, :role, :now_ms);

-- members: The members of a team, oldest first
select team_members.member_id, team_members.member_account, accounts.name as account, team_members.user_id, team_members.role, team_members.joined_ms
from team_members join accounts on accounts.id = team_members.member_account
where team_members.account_id = :account_id
order by team_members.joined_ms, team_members.member_id;

-- count_members: The number of members of a team
select count(*) as n from team_members where account_id = :account_id;

-- set_role: Change the role of a member
update team_members set role = :role where account_id = :account_id and member_id = :member_id;

-- remove_member: Remove a member
delete from team_members where account_id = :account_id and member_id = :member_id;

-- remove_members: Remove all members of a team
delete from team_members where account_id = :account_id;

-- add_invitation: Store an invitation; the token itself is never stored
insert into team_invitations (account_id, invitation_id, digest, role, invited_by, created_ms, expires_ms)
values (:account_id, :invitation_id, :digest, :role, :invited_by, :now_ms, :expires_ms);

-- invitations: The invitations of a team that can be accepted, oldest first
select invitation_id, role, invited_by, created_ms, expires_ms from team_invitations
where account_id = :account_id and expires_ms > :now_ms order by created_ms, invitation_id;

-- drop_expired: Delete the invitations of a team that have expired
delete from team_invitations where account_id = :account_id and expires_ms <= :now_ms;

-- invitation_of: The invitation with a token, and its team
select team_invitations.account_id as team_account, team_invitations.invitation_id, team_invitations.role, teams.team_id, teams.name, teams.created_ms
from team_invitations join teams on teams.account_id = team_invitations.account_id
where team_invitations.digest = :digest and team_invitations.expires_ms > :now_ms and teams.deleted_ms is null;

-- use_invitation: Delete an invitation, in the whole store
delete from team_invitations where digest = :digest;

-- remove_invitation: Delete an invitation of a team
delete from team_invitations where account_id = :account_id and invitation_id = :invitation_id;

-- remove_invitations: Delete all invitations of a team
delete from team_invitations where account_id = :account_id;

-- set_event_author: Record who wrote a turn of a team
update events set author_account = :author_account, author_user = :author_user where account_id = :account_id and id = :id;

-- set_fact_author: Record who wrote a fact of a team, unless somebody stated it before
update facts set author_account = :author_account, author_user = :author_user
where account_id = :account_id and id = :id and author_account is null;

-- event_authors: Who wrote turns of a team, by their public ids
select events.event_id as id, accounts.name as account, events.author_user as user_id
from events join accounts on accounts.id = events.author_account
where events.account_id = :account_id and events.event_id in (select value from json_each(:ids));

-- fact_authors: Who wrote facts of a team, by their public ids
select facts.fact_id as id, accounts.name as account, facts.author_user as user_id
from facts join accounts on accounts.id = facts.author_account
where facts.account_id = :account_id and facts.fact_id in (select value from json_each(:ids));

-- event_author: Who wrote a turn, null for one's own
select author_account, author_user from events where account_id = :account_id and id = :id;

-- fact_author: Who wrote a fact, null for one's own
select author_account, author_user from facts where account_id = :account_id and id = :id;
