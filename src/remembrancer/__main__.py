"""`python -m remembrancer`: the same as the command `remembrancer`."""

from .cli.app import main

if __name__ == "__main__":
    main()
