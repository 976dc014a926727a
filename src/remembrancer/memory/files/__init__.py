"""Memory files: the commands of Anthropic's memory tool, with every change stored as a version."""
