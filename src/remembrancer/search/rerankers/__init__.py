"""Rerankers: slower models that read a query and a text together, behind one port."""
