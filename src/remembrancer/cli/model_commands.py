"""`remembrancer models`: test the configured language models."""

from __future__ import annotations

import sys

import typer

from .commands import DataFolder, load_settings, print_table
from .output import Commands

app = Commands(no_args_is_help=True, help="Test the configured language models.")


@app.command("check")
def check(context: typer.Context, data: DataFolder = None) -> None:
    """Test each model: its speed and features.

    Sends a request to each model of each slot. Works while a server is running.
    """
    from .models import check_models

    results = list(check_models(load_settings(context, data)))
    if not results:
        print("No language model is configured; see docs/reference/settings.md.", file=sys.stderr)
    rows = [
        (
            "ok" if result.is_good else "wrong",
            result.slot,
            result.target.model,
            result.target.base_url,
            result.detail,
        )
        for result in results
    ]
    print_table(("state", "slot", "model", "address", "seen"), rows)
    if not all(result.is_good for result in results):
        sys.exit(1)
