"""A labelled benchmark of second look:

drafts in six languages over conversations made for it (held_out.toml, tuned.toml).
"""
