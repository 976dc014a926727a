"""Machine notices and near duplicates in the memory of a coding day."""
