-- signing_key: The private key with which the service signs
select secret, created_ms from secrets where name = 'receipts';

-- add_key: Add a signing key, or the public half of a retired one
insert into secrets (name, secret, created_ms) values (:name, :secret, :now_ms);

-- replace_key: Replace the signing key
update secrets set secret = :secret, created_ms = :now_ms where name = 'receipts';

-- retired_keys: Public halves of retired keys, and when they were retired, newest first
select secret, created_ms from secrets where name like 'receipts:%' order by created_ms desc, name;
