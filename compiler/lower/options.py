"""What lowering is told besides the IR."""

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


__all__ = ["Options"]
