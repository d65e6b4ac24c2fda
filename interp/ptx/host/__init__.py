"""Stretches of plain instructions as host code, made by LLVM: an option of the ptx machine."""
