-- current_files: The current files of a space with their sizes
select path, bytes from memory_files where account_id = :account_id and space_id = :space_id and is_current = 1 order by path;

-- current_file: The current file at a path
select version, text, flags from memory_files where account_id = :account_id and space_id = :space_id and path = :path and is_current = 1;

-- latest_version: The number of the latest version of a path
select coalesce(max(version), 0) as version from memory_files where account_id = :account_id and space_id = :space_id and path = :path;

-- outdate_file: Mark the file at a path as no longer current
update memory_files set is_current = 0 where account_id = :account_id and space_id = :space_id and path = :path and is_current = 1;

-- add_version: Add a version of a path
insert into memory_files (account_id, space_id, path, version, is_current, change, other_path, bytes, flags, key_id, created_ms, text)
values (:account_id, :space_id, :path, :version, :is_current, :change, :other_path, :bytes, :flags, :key_id, :now_ms, :text);

-- charge_files: Count a change, and add to the bytes of all versions
update spaces set file_bytes = file_bytes + :bytes, file_changes = file_changes + 1 where account_id = :account_id and id = :space_id;

-- file_usage: The bytes of all versions of a space, and its number of changes
select file_bytes, file_changes from spaces where account_id = :account_id and id = :space_id;

-- versions_below: Versions at and below a path, newest first (`/` and `0` are adjacent characters)
select id, path, version, change, other_path, bytes, flags, created_ms, text is null as is_gone from memory_files
where account_id = :account_id and space_id = :space_id and id < :below and (path = :path or (path >= :path || '/' and path < :path || '0'))
order by id desc limit :most;

-- version_of: One version of a path
select version, text from memory_files where account_id = :account_id and space_id = :space_id and path = :path and version = :version;

-- paths_below: Every path at or below one that ever had a file, with the bytes of its versions
select path, sum(case when bytes > :least then bytes else :least end) as bytes from memory_files
where account_id = :account_id and space_id = :space_id and (path = :path or (path >= :path || '/' and path < :path || '0')) group by path;

-- erase_files_below: Erase every version at or below a path
delete from memory_files where account_id = :account_id and space_id = :space_id and (path = :path or (path >= :path || '/' and path < :path || '0'));
