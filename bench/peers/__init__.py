"""Compare Remembrancer with other stores of memory, each in an environment of its own."""
