"""`remembrancer receipts`: verify receipts of erasures, and manage the key that signs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .commands import DataFolder, open_store_records
from .output import Commands

if TYPE_CHECKING:
    from ..protocol.forget import ReceiptKeys

_BYTES_MAX = 16 << 20

app = Commands(
    no_args_is_help=True,
    help="Verify signed receipts of erasures. Works while a server is running.",
)


@app.command("verify")
def verify(
    context: typer.Context,
    file: Path,
    keys: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    data: DataFolder = None,
) -> None:
    """Verify the signature of a receipt and print its statement.

    With --keys, neither a store nor the service is needed.

    Args:
        file: The answer of an erasure, or its `receipt`, as JSON.
        keys: Public keys, as `/api/v7/receipts/keys` answers them. Default: those of the store.
    """
    from pydantic import ValidationError

    from ..memory.history.forget import ReceiptInvalid, receipt_keys, verify_receipt
    from ..protocol.forget import ReceiptKeys, SignedReceipt

    document = _document(file)
    try:
        receipt = SignedReceipt.model_validate(document.get("receipt") or document)
        known_keys: ReceiptKeys | None = None
        if keys is not None:
            known_keys = ReceiptKeys.model_validate(_document(keys))
    except ValidationError as error:
        raise ReceiptInvalid("The file holds no receipt, or the other one no keys.") from error
    if known_keys is None:
        with open_store_records(context, data) as records:
            known_keys = receipt_keys(records)
    statement = verify_receipt(receipt, known_keys)
    print(statement.model_dump_json(indent=2))


@app.command("keys")
def keys(context: typer.Context, data: DataFolder = None) -> None:
    """Print the public keys as a JSON Web Key Set. Store them elsewhere."""
    from ..memory.history.forget import receipt_keys

    with open_store_records(context, data) as records:
        print(_json(receipt_keys(records)))


@app.command("rotate")
def rotate(context: typer.Context, data: DataFolder = None) -> None:
    """Replace the signing key. Earlier receipts still verify."""
    from ..memory.history.forget import receipt_keys, rotate_receipt_key

    with open_store_records(context, data) as records:
        rotate_receipt_key(records)
        print(_json(receipt_keys(records)))


def _json(keys: ReceiptKeys) -> str:
    return keys.model_dump_json(indent=2)


def _document(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises BadParameter."""
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(_BYTES_MAX))
    except (OSError, ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(document, dict):
        raise typer.BadParameter(f"{path} holds no JSON object")
    return document
