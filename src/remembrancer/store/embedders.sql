-- embedder_id: the number an embedder goes by
select id from embedders where name = :name;

-- add_embedder: number an embedder
insert into embedders (name) values (:name) on conflict (name) do update set name = excluded.name returning id;
