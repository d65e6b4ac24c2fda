"""The front end: a kernel's syntax tree becomes block IR."""

from blockstep.compiler.frontend.kernel import build, build_bound, build_fresh

__all__ = ["build", "build_bound", "build_fresh"]
