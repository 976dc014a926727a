-- charge: Count a file against the account's quota; changes no row where it would go beyond
insert into file_usage (account_id, charged_bytes)
select accounts.id, cast(:charged_bytes as bigint) from accounts where accounts.id = :account_id and cast(:charged_bytes as bigint) <= :bytes_max
on conflict (account_id) do update set charged_bytes = file_usage.charged_bytes + excluded.charged_bytes
where file_usage.charged_bytes + excluded.charged_bytes <= :bytes_max;

-- usage_of: What the files of an account count for
select coalesce((select charged_bytes from file_usage where account_id = :account_id), 0) as charged_bytes;

-- add_file: Keep a file's row; its blob is there
insert into files (filename, account_id, user_id, key_id, made_by, blob, size_bytes, created_ms)
values (:filename, :account_id, :user_id, :key_id, :made_by, :blob, :size_bytes, :now_ms);

-- file_named: A file by its name, whoever's it is
select id, filename, account_id, user_id, blob, size_bytes from files where filename = :filename;

-- any_file_of_blob: Whether any file has this content
select exists (select 1 from files where blob = :blob) as found;

-- files_of: The files of an account, or only those that keys with a pin made
select id, filename, blob, size_bytes from files where account_id = :account_id and (cast(:user_id as text) is null or user_id = :user_id);

-- erase_file: Erase a file's row
delete from files where account_id = :account_id and id = :id;

-- uncharge: Count a file no longer against the quota of its account
update file_usage set charged_bytes = case when charged_bytes > :charged_bytes then charged_bytes - :charged_bytes else 0 end where account_id = :account_id;

-- page_of_files: Files of an account, or only those that keys with a pin made, newest first
select files.filename, files.size_bytes, files.created_ms, files.made_by, files.key_id, files.user_id, keys.hint, keys.label
from files left join keys on keys.id = files.key_id
where files.account_id = :account_id and (cast(:user_id as text) is null or files.user_id = :user_id) and files.id < :before
order by files.id desc limit :most;

-- room_of: How many files an account has, and what they count for
select (select count(*) from files where account_id = :account_id) as files,
    coalesce((select charged_bytes from file_usage where account_id = :account_id), 0) as charged_bytes;

-- rooms: What the files of each account count for, the most first
select accounts.name as account, file_usage.charged_bytes, (select count(*) from files where files.account_id = accounts.id) as files
from file_usage join accounts on accounts.id = file_usage.account_id
where file_usage.charged_bytes > 0
order by file_usage.charged_bytes desc, accounts.id limit :most;

-- secret_named: What is signed with
select secret from secrets where name = :name;

-- keep_secret: The same, made
insert into secrets (name, secret, created_ms) values (:name, :secret, :now_ms) returning secret;
