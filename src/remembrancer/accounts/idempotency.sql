-- answer_of: The first answer for an API key, path and idempotency key
select body_digest, answer from answers
where account_id = :account_id and key_id = :key_id and path = :path and idempotency_key = :idempotency_key and created_ms > :kept_since_ms;

-- delete_old_answers: Delete expired answers of an API key
delete from answers where account_id = :account_id and key_id = :key_id and created_ms <= :kept_since_ms;

-- add_answer: Store the first answer
insert into answers (account_id, key_id, path, idempotency_key, body_digest, answer, created_ms)
values (:account_id, :key_id, :path, :idempotency_key, :body_digest, :answer, :now_ms);

-- delete_answers_of: Delete all answers of an account, which may repeat erased text; those of a team are by keys of its members
delete from answers where account_id = :account_id;

-- delete_answers_naming: Delete the answers of an account that contain an id
delete from answers where account_id = :account_id and instr(answer, :id) > 0;
