"""Created files: types, names, quotas, contents and signed links.

Imported by `memory` and the entry points.
"""
