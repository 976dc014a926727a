-- Browsers that are signed in have names, so that their reader can tell them apart.

alter table browser_sessions add column browser text not null default '';  -- such as: Firefox on Linux
