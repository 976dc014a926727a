"""Shapes of other products' data: what `remembrancer import` reads.

`conversations` and `memories` read other products, each by a function from an opened document to
records. `table` lists them.
"""

from .documents import Source
from .records import (
    ImportRefused,
    InvalidRecord,
    LeftOutRecord,
    Record,
    one_line,
)
from .table import (
    NAMES,
    SHAPE_HINT,
    SHAPES,
    Shape,
    ShapeUnknown,
    detect,
    is_native_archive,
    records,
    shape_named,
)
