"""Interpreter of shell commands: which files a command would touch, without running it.

Only the gate (`hook_paths`) imports it. It needs the standard library alone.
"""
