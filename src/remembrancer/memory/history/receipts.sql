-- ids_of_events: Ids of a range of events, page by page
select id, event_id from events where account_id = :account_id and id >= :low and id < :high order by id limit :most;

-- user_of_space: The user of a space
select user_id from spaces where account_id = :account_id and id = :id;
