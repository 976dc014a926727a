"""Repair of failing programs, by rule (`rules/`) and by language model (`models/`), each proposal
proven by a run.

Imports `sandbox`; `memory` imports it to run programs.
"""
