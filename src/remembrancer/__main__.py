"""`python -m remembrancer`: the same as the command `remembrancer`."""

from .entrypoints.cli import main

if __name__ == "__main__":
    main()
