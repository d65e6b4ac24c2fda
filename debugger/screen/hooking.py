"""`breakpoint()` in a kernel under `blockstep run --tui`: the screen opens behind that line.

A launch is only looked at if its kernel, or a function that it calls, names `breakpoint`; all others
run as they would. What is looked at is recorded from its beginning, so one can go back from there.
Outside of kernels `breakpoint()` is what it is without us.
"""

from __future__ import annotations

import sys
from typing import Any

from blockstep.debugger.commands.functions import functions_of
from blockstep.debugger.opening import Opening
from blockstep.debugger.points import Points
from blockstep.language import frames
from blockstep.language.function import JITFunction, current_launcher, register_launcher
from blockstep.runtime.ladder.launch import take


class AtBreakpoints(Opening):
    """Stands in for the launcher. The checkers look on, but only `breakpoint()` and exceptions stop
    a launch, until a person says otherwise."""

    def __call__(
        self, function: JITFunction, args: Any, kwargs: dict[str, Any], *, grid: Any, warmup: bool
    ) -> Any:
        """One launch. Raises BdbQuit where a person has seen enough."""
        if warmup or not calls_breakpoint(function):
            return self.before(function, args, kwargs, grid=grid, warmup=warmup)
        if self.kept is None:
            self.kept = Points(_unasked, events={"exception"})
        self.stopped = True  # at what is set, not at the first line
        launch = take(function, tuple(args), kwargs, grid, frames.user_site(1).span)
        done = self._open(launch)
        return self.before(function, args, kwargs, grid=grid, warmup=done)


def _unasked(text: str, frame: Any) -> Any:
    raise AssertionError("points that are only carried over are not evaluated")


def calls_breakpoint(kernel: JITFunction) -> bool:
    """Whether a kernel, or a function that it calls, names `breakpoint`."""
    return any("breakpoint" in f.fn.__code__.co_names for f in functions_of(kernel).values())


def hook(*args: Any, **kwargs: Any) -> Any:
    """For `sys.breakpointhook`. A session stops by itself; a kernel that runs on without one, after
    a person let it go, does not stop again."""
    if frames.is_kernel(sys._getframe(1).f_code):
        return None
    return sys.__breakpointhook__(*args, **kwargs)


def install(talks: Any, said: Any = print) -> None:
    """From now on, in this process."""
    register_launcher(AtBreakpoints(talks, current_launcher(), said=said))
    sys.breakpointhook = hook


__all__ = ["AtBreakpoints", "calls_breakpoint", "hook", "install"]
