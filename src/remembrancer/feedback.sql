-- add_feedback: Keep what somebody reported
insert into feedback (feedback_id, account_id, type, title, description, severity, created_ms)
values (:feedback_id, :account_id, :type, :title, :description, :severity, :now_ms);

-- place_of: Where a piece of feedback stands in the list
select id from feedback where feedback_id = :feedback_id and account_id = coalesce(:account_id, account_id);

-- feedback: A page of the list, newest first
select feedback.feedback_id, accounts.name as account, feedback.type, feedback.title, feedback.description, feedback.severity,
    feedback.created_ms
from feedback join accounts on accounts.id = feedback.account_id
where feedback.id < :before and feedback.type = coalesce(:type, feedback.type)
    and feedback.account_id = coalesce(:account_id, feedback.account_id)
order by feedback.id desc limit :most;

-- erase_feedback: Erase what an account reported
delete from feedback where account_id = :account_id;
