-- secret_named: What is signed with
select secret from secrets where name = :name;

-- keep_secret: The same, made
insert into secrets (name, secret, created_ms) values (:name, :secret, :now_ms) returning secret;
