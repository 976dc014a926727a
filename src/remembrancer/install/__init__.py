"""`remembrancer install`:

writes what agents need to use this memory into their own files, and takes it out again.
"""
