-- add_feedback: Keep what somebody reported
insert into feedback (feedback_id, account_id, type, title, description, severity, created_ms)
values (:feedback_id, :account_id, :type, :title, :description, :severity, :now_ms);

-- place_of: Where a piece of feedback stands in the list
select id from feedback where feedback_id = :feedback_id and account_id = coalesce(:account_id, account_id);

-- feedback: A page of the list, newest first
select feedback.feedback_id, accounts.name as account, feedback.type, feedback.title, feedback.description, feedback.severity,
    feedback.created_ms, feedback.closed_ms, feedback.note
from feedback join accounts on accounts.id = feedback.account_id
where feedback.id < :before and feedback.type = coalesce(:type, feedback.type)
    and feedback.account_id = coalesce(:account_id, feedback.account_id)
    and (:state = 'all' or (feedback.closed_ms is null and :state = 'open') or (feedback.closed_ms is not null and :state = 'closed'))
order by feedback.id desc limit :most;

-- count_open: Count the open feedback of one account or of all
select count(*) as n from feedback where closed_ms is null and account_id = coalesce(:account_id, account_id);

-- close_feedback: Close a piece of feedback of any account with the owner's answer, or open it again
update feedback set closed_ms = :closed_ms, note = :note where feedback_id = :feedback_id and account_id = coalesce(:account_id, account_id);

-- erase_feedback: Erase what an account reported
delete from feedback where account_id = :account_id;
