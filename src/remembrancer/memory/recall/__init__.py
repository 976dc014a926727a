"""Search: rank events for a query, explain a search, and the search inside PostgreSQL."""
