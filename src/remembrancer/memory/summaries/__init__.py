"""L1 summaries, the L2 map, and the start pack built from them."""
