"""Definitions of the operations, a file for each family: type rule and meaning."""
