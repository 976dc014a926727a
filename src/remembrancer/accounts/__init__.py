"""Who may ask: accounts and their keys."""
