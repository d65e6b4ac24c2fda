"""What comes before the instance that a session starts at, all at once on the grid machine.

Findings stay what they are: if the launch is judged, the whole of it is first proved clean on the grid
machine, once. Where that cannot be proved every instance runs on the step machine, under all checkers,
so that a race with an early instance is found at the late one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from blockstep.interp.grid.checks import UNJUDGED, Checks
from blockstep.interp.grid.plan import Refused
from blockstep.options import Options, Program
from blockstep.runtime import gridded, session
from blockstep.runtime.ladder.launch import Launch


class _Wanted(BaseException):
    """Somebody wants the launch to stop, or to end."""


@dataclass(slots=True, eq=False)
class Shortcut:
    """The way to the instances of one launch. `because` says why there is none, where there is none."""

    launch: Launch
    judged: bool
    clean: bool | None = None  # None: nobody has asked yet
    because: str = ""

    def reach(self, first: Program, wanted: Callable[[], bool]) -> bool:
        """Memory as the instances before `first` leave it; False, with memory as before the launch, if
        they have to run one by one. `wanted` says whether to leave off in the middle."""
        if first == (0, 0, 0):
            return False  # there is nothing before it
        try:
            if self.clean is None:
                self.clean = not self.judged or self._is_clean(wanted)
            return self.clean and self._ran(UNJUDGED, first, wanted)
        except _Wanted:
            self.launch.memory.restore()
            return False

    def _is_clean(self, wanted: Callable[[], bool]) -> bool:
        checks = gridded.checks_of(session.make(Options(machine="step", judged=True)))
        clean = self._ran(checks, None, wanted)
        self.launch.memory.restore()
        return clean

    def _ran(self, checks: Checks, before: Program | None, wanted: Callable[[], bool]) -> bool:
        def heard(kind: str, touch: Any) -> None:
            if wanted():
                raise _Wanted

        launch = self.launch
        try:
            gridded.on_grid(
                launch.function, launch.bound, launch.grid, checks, 0,
                int(launch.told["num_warps"]), before=before, heard=heard,
            )  # fmt: skip
        except Refused as refused:
            self.because = str(refused)
            return False
        return True


__all__ = ["Shortcut"]
