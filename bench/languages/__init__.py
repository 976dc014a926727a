"""One memory written natively in seven languages, and one in several, with questions."""
