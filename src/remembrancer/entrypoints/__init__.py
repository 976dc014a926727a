"""Where requests come in: HTTP and the command line."""
