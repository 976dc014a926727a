-- answer_of: the first answer to this key, path and idempotency key, while it is kept
select body_digest, answer from answers
where key_id = :key_id and path = :path and idempotency_key = :idempotency_key and created_ms > :kept_since_ms;

-- forget_old_answers: answers of this key that are no longer kept
delete from answers where key_id = :key_id and created_ms <= :kept_since_ms;

-- keep_answer: the first answer
insert into answers (key_id, path, idempotency_key, body_digest, answer, created_ms)
values (:key_id, :path, :idempotency_key, :body_digest, :answer, :now_ms);
