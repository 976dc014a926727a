-- answer_of: the first answer to this key, path and idempotency key, while it is kept
select body_digest, answer from answers
where account_id = :account_id and key_id = :key_id and path = :path and idempotency_key = :idempotency_key and created_ms > :kept_since_ms;

-- forget_old_answers: answers of this key that are no longer kept
delete from answers where account_id = :account_id and key_id = :key_id and created_ms <= :kept_since_ms;

-- keep_answer: the first answer
insert into answers (account_id, key_id, path, idempotency_key, body_digest, answer, created_ms)
values (:account_id, :key_id, :path, :idempotency_key, :body_digest, :answer, :now_ms);

-- forget_answers_of: no first answer of an account's keys is kept any longer: they may repeat what was erased
delete from answers where account_id = :account_id and key_id in (select keys.id from keys where keys.account_id = :account_id);

-- forget_answers_that_name: no first answer of an account's keys that names an id
delete from answers
where account_id = :account_id and key_id in (select keys.id from keys where keys.account_id = :account_id) and instr(answer, :id) > 0;
