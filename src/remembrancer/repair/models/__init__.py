"""Programs that rules do not mend, changed by language models; nothing of theirs counts before it
was looked at and run.
"""
