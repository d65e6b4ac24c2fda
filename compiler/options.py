"""What compiling is told besides the IR: options, and hints about a launch's arguments.

They belong to a kernel's key in the disk cache, so this module imports nothing of the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`target` is an architecture name (`sm_90a`, `sm_80`). `exact` asks for IEEE arithmetic: no
    contraction, correctly rounded division and square root, library functions for the rest.
    `flush` lets approximate functions take denormals for zeros. `maxnreg` bounds the registers of a
    lane; 0 leaves them to the assembler."""

    target: str = "sm_90a"
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    exact: bool = False
    debug: bool = False
    line_info: bool = True
    flush: bool = True
    maxnreg: int = 0

    @property
    def capability(self) -> int:
        """The compute capability as a number: 90 for `sm_90a`."""
        return int("".join(c for c in self.target if c.isdigit()))


@dataclass(frozen=True, slots=True)
class Hint:
    """What is known of an argument at launch. A pointer is a multiple in bytes."""

    divisible_by: int = 1
    nonnegative: bool = False


__all__ = ["Hint", "Options"]
