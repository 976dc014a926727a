"""MCP server: the service as tools for agents, over HTTP and over standard input and output.

`server` and `cli` import it.
"""
