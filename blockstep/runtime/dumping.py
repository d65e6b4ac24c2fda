"""`blockstep dump`: the script runs until it launches one kernel, whose IR is printed instead.

The bound arguments of that launch give the types, so nobody has to write a signature. Other kernels
run as always, because the script may need what they compute.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

from blockstep.compiler import passes
from blockstep.compiler.frontend import build_bound
from blockstep.ir import dump
from blockstep.language.function import JITFunction, register_launcher
from blockstep.runtime.arguments import bind
from blockstep.runtime.launch import launch
from blockstep.runtime.launch_options import OPTIONS, check_options, split_options


class Printed(SystemExit):
    """Ends the script: what was asked for has been printed."""


@dataclass(eq=False, slots=True)
class Dumper:
    """Stands in for the launcher. `kernel` is a name or a pattern of one; `after` names a pass."""

    kernel: str
    after: str | None = None
    locations: bool = True
    done: bool = False
    seen: tuple[str, ...] = ()

    def __call__(
        self, function: JITFunction, args: Any, kwargs: dict[str, Any], *, grid: Any, warmup: bool
    ) -> Any:
        if not fnmatch.fnmatch(function.__name__, self.kernel):
            if function.__name__ not in self.seen:
                self.seen = (*self.seen, function.__name__)
            return launch(function, args, kwargs, grid=grid, warmup=warmup)
        self._print(function, args, kwargs)
        raise Printed(0)

    def _print(self, function: JITFunction, args: Any, kwargs: dict[str, Any]) -> None:
        options, named = split_options(kwargs, function)
        check_options(options)
        bound = bind(function.params, args, named, kernel=function.__name__, options=OPTIONS)
        made = build_bound(function, bound.arguments, options["num_warps"])
        if self.after is not None:
            passes.run(made, self.after)
        print(dump(made, self.locations))
        self.done = True

    def install(self) -> None:
        """Every launch of the process comes here from now on.

        Raises ValueError for a pass that there is not."""
        if self.after is not None and self.after not in passes.PASSES:
            known = ", ".join(passes.PASSES)
            raise ValueError(f"no pass is called {self.after!r}; there are {known}")
        register_launcher(self)

    def missed(self) -> str:
        """What to say when the kernel was never launched."""
        launched = ", ".join(self.seen) or "none"
        return f"the script never launched a kernel {self.kernel!r}; it launched: {launched}"
