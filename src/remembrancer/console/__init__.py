"""The pages that people sign in to."""
