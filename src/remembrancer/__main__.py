"""The command `remembrancer`, also as `python -m remembrancer`."""

import sys


def main() -> None:
    """Run the command of the program's arguments.

    An agent waits for `mcp` to answer, so that it does without the command line's imports.
    """
    if sys.argv[1:2] == ["mcp"]:
        from .client.relay import serve_by_arguments

        if serve_by_arguments(sys.argv[2:]):
            return
    from .cli.app import main as run_command

    run_command()


if __name__ == "__main__":
    main()
