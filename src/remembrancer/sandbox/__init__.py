"""Run untrusted Python: confined by the kernel, ahead of demand, once a process.

`sandbox.py` is the server's side. Everything else runs in another process, the zygote, which is
started with an empty environment and imports the standard library alone until it is confined; so
nothing may be imported here.
"""
