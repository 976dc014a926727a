"""Search: rank events for a query, explain a search, and search inside PostgreSQL."""
