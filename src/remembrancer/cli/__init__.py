"""The command line: one module per group of commands. Only `__main__` imports it."""
