"""A labelled benchmark of the second look: drafts in six languages (held_out.toml, tuned.toml)."""
