"""The networked engine: PostgreSQL through a connection pool."""
