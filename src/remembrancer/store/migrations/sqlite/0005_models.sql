-- Whether text of an account may be sent to language models on other machines than this one.

alter table accounts add column outside_models integer not null default 1;
