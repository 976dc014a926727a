"""Embedders: models that turn texts into vectors, behind one port, one module for each kind."""
