"""The command line: one module per group of commands.

The outermost package; nothing imports it but `__main__`.
"""
