"""Shapes of other products' data: what `remembrancer import` reads.

One module per family, each a function from an opened document to records. `table` lists them.
"""

from .records import (
    FactRecord,
    ImportRefused,
    InvalidRecord,
    LeftOutRecord,
    Record,
    TurnRecord,
    checked,
    one_line,
)
from .sources import Source
from .table import NAMES, SHAPES, Shape, ShapeUnknown, detect, is_archive, records, shape_named

__all__ = [
    "NAMES",
    "SHAPES",
    "FactRecord",
    "ImportRefused",
    "InvalidRecord",
    "LeftOutRecord",
    "Record",
    "Shape",
    "ShapeUnknown",
    "Source",
    "TurnRecord",
    "checked",
    "detect",
    "is_archive",
    "one_line",
    "records",
    "shape_named",
]
