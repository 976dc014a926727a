"""Memory files: the commands of Anthropic's memory tool, every change kept as a version."""
