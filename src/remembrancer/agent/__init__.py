"""The service's own agent: chat, completions, second look, summaries and compliance."""
