"""What the service does for an agent in its turn: look at a draft a second time."""
