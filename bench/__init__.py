"""What the service costs and how well it finds; `python -m bench` runs all of it, results.md keeps
the figures.
"""
