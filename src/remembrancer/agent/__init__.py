"""The service's own agent: chat, OpenAI-compatible completions, second look, model summaries and
compliance.

Imported by `status` and the entry points.
"""
