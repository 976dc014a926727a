"""Import of conversations from other systems."""
