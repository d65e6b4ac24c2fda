"""`tl.range`, `tl.static_range` and `tl.condition`: what a kernel's loops run over.

The options of a loop are advice to the compiler; they do not change what the loop computes. The
classes hold what was written; a kernel's own `for` gives them their meaning
(`blockstep.language.during`), so iterating one anywhere else is an error.
"""

from __future__ import annotations

from typing import Any

from blockstep.language.constant import unwrap
from blockstep.language.value import tensor


class _Loop:
    __triton_builtin__ = True

    start: Any
    end: Any
    step: Any

    def _bounds(self, arg1: Any, arg2: Any, step: Any) -> None:
        self.step = 1 if step is None else step
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)

    def __iter__(self) -> Any:
        raise RuntimeError("tl.range can only be used in @triton.jit'd functions")

    def __next__(self) -> Any:
        raise RuntimeError("tl.range can only be used in @triton.jit'd functions")


class range(_Loop):
    """`for i in tl.range(start, end, step, ...)`: i is a scalar known when the program runs."""

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
        disallow_acc_multi_buffer: Any = False,
        flatten: Any = False,
        warp_specialize: Any = False,
        disable_licm: Any = False,
    ) -> None:
        self._bounds(arg1, arg2, step)
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor
        self.disallow_acc_multi_buffer = disallow_acc_multi_buffer
        self.flatten = flatten
        self.warp_specialize = warp_specialize
        self.disable_licm = disable_licm


class static_range(_Loop):
    """`for i in tl.static_range(start, end, step)`: the body is repeated, i is a constexpr.

    Raises TypeError for bounds that are not constexprs."""

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        self._bounds(arg1, arg2, step)
        for name in ("start", "end", "step"):
            value = unwrap(getattr(self, name))
            if isinstance(value, tensor) or not isinstance(value, int):
                shown = value.type if isinstance(value, tensor) else repr(value)
                raise TypeError(f"{shown} used as tl.static_range {name} value is not a constexpr")
            setattr(self, name, value)


class condition:
    """`while tl.condition(c, disable_licm=...)`: a loop condition with options."""

    __triton_builtin__ = True

    def __init__(self, arg1: Any, disable_licm: Any = False) -> None:
        self.condition = arg1
        self.disable_licm = disable_licm
