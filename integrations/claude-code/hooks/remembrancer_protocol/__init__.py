"""Links to the protocol modules that hooks need, because hooks run without the package."""
