"""What everything that can be launched has in common: `kernel[grid](...)`, `run`, `warmup`.

The jit function, the autotuner and heuristics derive from it, and so do the wrappers that
libraries write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class KernelInterface(Generic[T]):
    """Something to launch; a subclass only has to give `run`."""

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """One launch over `grid`; with `warmup` only what precedes it."""
        raise NotImplementedError(f"{type(self).__name__} has no run()")

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Everything before the launch itself: binding, specialising, compiling."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """`kernel[grid]`: a callable that launches over `grid`."""

        def launcher(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True  # IPython and pytest pass over this frame
            return self.run(*args, grid=grid, warmup=False, **kwargs)

        return launcher
