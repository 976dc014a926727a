"""`remembrancer install`: add the hooks, the MCP server and the skill to an agent's own
configuration, and remove them.

Only `cli` imports it.
"""
