"""Hook program for agents: reads an event from standard input and prints the answer.

    python3 -I -S remembrancer_hook.py AGENT [URL]

AGENT is one of `hook_agents.AGENTS`. The program needs only Python's standard library.
Modules are imported when they are needed, because an agent waits for every hook.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I omits the script's own folder

import hook_main

if __name__ == "__main__":
    hook_main.main(sys.argv[1:])
