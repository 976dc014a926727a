"""Repair programs by rule: pure proposals, each of which only a re-run in the sandbox makes true.

`mend.py` is the loop. A module per family of faults; all of them read tokens (`source.py`), none
parses: a program is parsed in the sandbox alone, where a parser that gives in to hostile text harms
nobody.
"""
