"""Shapes of other products' data: what `remembrancer import` reads.

`conversations`, `memories` and `markdown` read other products, each by a function from an opened
document to records. `table` lists them.
"""
