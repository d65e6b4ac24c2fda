"""`blockstep dump`: the script runs until it launches one kernel, of which the compiler's stages are
printed instead.

The bound arguments of that launch give the types, so nobody has to write a signature. Other kernels
run as always, because the script may need what they compute. No GPU is needed.
"""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blockstep import target
from blockstep.compiler import toolchain
from blockstep.compiler.analysis import Hint
from blockstep.compiler.assemble import PTXAS, assemble
from blockstep.compiler.compile import Compiled, compile_function, count_until, place
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.layouts import draw, draw_shared
from blockstep.compiler.lower import Options
from blockstep.errors import TritonError, UnsupportedError
from blockstep.ir import Function, Layout, SharedLayout, dump, names_of
from blockstep.language.function import JITFunction, register_launcher
from blockstep.runtime.arguments import bind
from blockstep.runtime.gpu.compiling import hints_of, options_of
from blockstep.runtime.launch import launch
from blockstep.runtime.launch_options import OPTIONS, check_options, split_options
from blockstep.runtime.resources import Resources, resources_text

MOST_NAMES = 6  # of the values of one layout


class Printed(SystemExit):
    """Ends the script: what was asked for has been printed."""


@dataclass(eq=False, slots=True)
class Dumper:
    """Stands in for the launcher. `kernel` is a name or a pattern of one; `after` names a pass;
    `stages` are among layouts, llvm, ptx, resources."""

    kernel: str
    after: str | None = None
    locations: bool = True
    stages: tuple[str, ...] = ()
    done: bool = False
    seen: tuple[str, ...] = ()

    def __call__(
        self, function: JITFunction, args: Any, kwargs: dict[str, Any], *, grid: Any, warmup: bool
    ) -> Any:
        if not fnmatch.fnmatch(function.__name__, self.kernel):
            if function.__name__ not in self.seen:
                self.seen = (*self.seen, function.__name__)
            return launch(function, args, kwargs, grid=grid, warmup=warmup)
        text = self._text(function, args, kwargs)
        try:
            print(text, flush=True)
        except BrokenPipeError:  # the reader of our output (head, less) has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Printed(0)

    def _text(self, function: JITFunction, args: Any, kwargs: dict[str, Any]) -> str:
        options, named = split_options(kwargs, function)
        check_options(options)
        bound = bind(function.params, args, named, kernel=function.__name__, options=OPTIONS)
        made = build_bound(function, bound.arguments, options["num_warps"])
        self.done = True
        if self.after is None and not self.stages:
            return dump(made, self.locations)
        try:
            stages = Stages(made, options_of(options, function), hints_of(bound), self.after)
            return "\n\n".join(self._texts(stages))
        except TritonError as error:  # the compiler, or the assembler, does not take it
            print(f"blockstep: {error}", file=sys.stderr)
            raise Printed(2) from None

    def _texts(self, stages: Stages) -> list[str]:
        """What was asked for, in the order of the compiler."""
        texts = [dump(stages.ir, self.locations)] if self.after is not None else []
        return texts + [getattr(stages, stage)() for stage in self.stages]

    def install(self) -> None:
        """Every launch of the process comes here from now on.

        Raises ValueError for a pass that there is not."""
        if self.after is not None:
            count_until(self.after)
            if "layouts" in self.stages and count_until(self.after) < count_until("place"):
                raise ValueError(f"after {self.after} nothing has a layout yet: `place` gives them")
        register_launcher(self)

    def missed(self) -> str:
        """What to say when the kernel was never launched."""
        launched = ", ".join(self.seen) or "none"
        return f"the script never launched a kernel {self.kernel!r}; it launched: {launched}"


class Stages:
    """What the compiler makes of one kernel, worked out when it is asked for."""

    def __init__(
        self, function: Function, options: Options, hints: Mapping[str, Hint], after: str | None
    ) -> None:
        if target.current().backend != "cuda":
            raise UnsupportedError(
                f"unsupported: there is no compiler for {target.current().title}; "
                "--target h100 is one of those that there is one for"
            )
        self.function, self.options, self.hints = function, options, hints
        self.ir = place(function, options, hints, until=after)
        self._compiled: Compiled | None = None

    @property
    def compiled(self) -> Compiled:
        """The kernel after all passes, as LLVM IR and PTX."""
        if self._compiled is None:
            self._compiled = compile_function(self.function, self.options, self.hints)
        return self._compiled

    def layouts(self) -> str:
        """Each layout of the IR once, drawn, with the values that are held so."""
        found: dict[Layout | SharedLayout, list[str]] = {}
        for value, name in names_of(self.ir).items():
            if value.layout is not None:
                found.setdefault(value.layout, []).append(name)
        return "\n\n\n".join(f"{_listed(names)}\n{_drawn(one)}" for one, names in found.items())

    def llvm(self) -> str:
        """The LLVM IR, before LLVM's own passes."""
        return self.compiled.module.text.rstrip()

    def ptx(self) -> str:
        """The PTX."""
        return self.compiled.ptx.rstrip()

    def resources(self) -> str:
        """What a launch takes of the device, as the assembler says."""
        module = self.compiled.module
        made = assemble(self.compiled.ptx, self.options.target, assembler=_assembler())
        needs = Resources(
            32 * self.options.num_warps, made.registers, made.spill_stores, made.spill_loads,
            made.stack, made.shared, module.shared,
        )  # fmt: skip
        return resources_text(self.function.name, target.current(), needs, made.warnings)


def _assembler() -> str | None:
    """ptxas, which the gpu machine takes too; where it is not installed, whichever will do."""
    try:
        toolchain.ptxas_path()
    except UnsupportedError:
        return None
    return PTXAS


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}:"


def _drawn(layout: Layout | SharedLayout) -> str:
    return draw_shared(layout) if isinstance(layout, SharedLayout) else draw(layout)
