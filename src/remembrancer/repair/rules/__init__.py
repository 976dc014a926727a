"""Repair programs by rule: pure functions propose changes, and runs in the sandbox confirm them.

`repair.py` has the loop; the other modules each handle one family of faults. All of them read
tokens (`source.py`) and none parses the program: hostile text can crash a parser, so programs are
parsed only in the sandbox.
"""
