"""The program of the hooks: read an event from stdin and print the response to stdout.

    python3 -I -S remembrancer_hook.py AGENT [URL]

AGENT is claude-code, codex or cursor. Uses only the standard library, and imports
modules on demand to start fast.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I removes the script's own folder

import hook_main

if __name__ == "__main__":
    hook_main.main(sys.argv[1:])
