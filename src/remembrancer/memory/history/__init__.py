"""Browse and erase stored data: events, sessions, whole users."""
