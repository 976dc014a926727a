"""Browse, page and erase what is stored: events, sessions, whole users."""
