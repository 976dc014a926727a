"""Text analysis: words, languages, passages, prompt injections and secrets."""
