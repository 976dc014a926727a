"""A labelled benchmark of the second look.

Drafts in six languages over conversations written for it (held_out.toml, tuned.toml).
"""
