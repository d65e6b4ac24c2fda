"""The front end: a kernel's syntax tree becomes block IR."""

from blockstep.compiler.frontend.kernel import build, build_bound

__all__ = ["build", "build_bound"]
