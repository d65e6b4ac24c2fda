"""Inline PTX. This release does not run it: the line that asks for it says so."""

from __future__ import annotations

from typing import Any

from blockstep.errors import UnsupportedError


def inline_asm_elementwise(
    asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any
) -> Any:
    """`n, … -> n`: applies PTX to each element. Raises UnsupportedError: no machine here runs PTX
    that stands in a kernel."""
    raise UnsupportedError("inline PTX (inline_asm_elementwise) is not run by this release")


__all__ = ["inline_asm_elementwise"]
