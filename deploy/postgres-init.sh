#!/bin/sh
# Runs once, when the database is created. The role that owns the store is not a superuser, because
# row-level security does not apply to superusers.
set -eu
psql --username "$POSTGRES_USER" --dbname postgres --set ON_ERROR_STOP=1 --set password="$(cat "$SERVICE_PASSWORD_FILE")" <<'SQL'
create role remembrancer login password :'password';
create database remembrancer owner remembrancer encoding 'UTF8' locale_provider libc locale 'C.UTF-8' template template0;
\connect remembrancer
create extension if not exists vector;
SQL
