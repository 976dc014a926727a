-- embedder_id: id of an embedder
select id from embedders where name = :name;

-- add_embedder: assign an id to an embedder
insert into embedders (name) values (:name) on conflict (name) do update set name = excluded.name returning id;
