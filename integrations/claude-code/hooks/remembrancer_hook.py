"""The program that an agent's hooks start: reads what happened from standard input, answers on standard output.

    python3 -I -S remembrancer_hook.py AGENT [URL]

AGENT is claude-code, codex or cursor. It needs nothing but Python's standard library, and imports what it needs when it needs it.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I leaves the script's own folder out

import hook_door

if __name__ == "__main__":
    hook_door.main(sys.argv[1:])
