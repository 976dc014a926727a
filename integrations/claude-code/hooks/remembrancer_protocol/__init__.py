"""Copies of protocol modules, for hooks that run without the package. Do not edit."""
