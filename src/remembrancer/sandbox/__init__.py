"""Run untrusted Python programs in processes that the kernel confines.

Each program runs in a process of its own, forked ahead of demand. `sandbox.py` is the server's
side. The other modules also run in the zygote, a process that starts with an empty environment and
imports only the standard library until it is confined. This file must therefore import nothing.
"""
