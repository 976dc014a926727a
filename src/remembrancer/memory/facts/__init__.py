"""Critical facts: lasting statements about a user, with their history."""
