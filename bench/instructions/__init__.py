"""A labelled benchmark of standing instructions in messages of users (messages.toml)."""
