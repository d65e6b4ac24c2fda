"""The compiler as the ladder runs it: a pass at a time, every result kept; lowered from the last.

Nothing comes from the disk cache: what is verified is the compiler that is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from blockstep import target
from blockstep.compiler import compile as compiler
from blockstep.compiler import passes
from blockstep.compiler.emit import emit
from blockstep.compiler.lower import lower
from blockstep.compiler.options import Options
from blockstep.errors import TritonError, UnsupportedError
from blockstep.interp.grid.plan import READS, WRITES
from blockstep.ir import Function, Malformed, Operation, dump, verify
from blockstep.language.op import OPS
from blockstep.runtime.gpu import building
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.compiling import binary_of
from blockstep.runtime.ladder.launch import Launch, exactly


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """What one pass left. `name` is the pass (`cse:2`: the second of that name), `changed` whether
    the text is another than before it."""

    name: str
    one: passes.Pass
    function: Function
    changed: bool


class PassFailed(Exception):
    """A pass ended in an error, or left IR that does not verify."""

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.name = name


@dataclass(slots=True, eq=False)
class Made:
    """What the compiler makes of one launch. `alter` may change the list of passes."""

    launch: Launch
    options: Options
    alter: Callable[[list[passes.Pass]], list[passes.Pass]] | None = None
    optimised: bool = True  # by LLVM's passes
    _stages: list[Stage] | None = None
    _binaries: dict[bool, Binary] = field(default_factory=dict)

    @property
    def stages(self) -> list[Stage]:
        """The IR after each pass. Raises PassFailed; TritonError for what has no lowering."""
        if self._stages is None:
            self._stages = list(self._run())
        return self._stages

    def _run(self) -> Iterator[Stage]:
        if target.current().backend != "cuda":
            raise UnsupportedError(f"there is no compiler for {target.current().title}")
        made = self.launch.made.clone()
        before, kept = dump(made, locations=False), self.launch.made
        chosen = compiler.pipeline(self.options, self.launch.hints)
        if self.alter is not None:
            chosen = self.alter(chosen)
        for name, one in zip(compiler.numbered([p.name for p in chosen]), chosen, strict=True):
            try:
                passes.apply(one, made)
                text = dump(made, locations=False)
                changed = text != before
                if changed:
                    verify(made)
            except TritonError:
                raise
            except (Malformed, ValueError, KeyError, AssertionError) as error:
                raise PassFailed(name, error) from error
            kept = made.clone() if changed else kept
            yield Stage(name, one, kept, changed)
            before = text

    @property
    def placed(self) -> Function:
        """The IR that is lowered."""
        return self.stages[-1].function

    def binary(self, exact: bool) -> Binary:
        """The PTX, and what a launch must know of it. Raises TritonError."""
        if exact not in self._binaries:
            options = exactly(self.options) if exact else self.options
            module = lower(self.placed.clone(), options)
            ptx = emit(module.text, options.target, exact=options.exact, optimised=self.optimised)
            made = compiler.Compiled(module, ptx, self.placed)
            self._binaries[exact] = binary_of(building.packed(self.launch.made, made, options))
        return self._binaries[exact]


def made_for(launch: Launch) -> Made:
    """What the compiler makes of a launch, for the device that answers."""
    return Made(launch, launch.options)


@dataclass(slots=True, eq=False)
class Kept:
    """What was made of earlier launches: one with the same IR, hints and options is not compiled
    again. It lasts as long as its owner, not longer than the compiler that it was made by."""

    most: int = 64
    _known: dict[tuple[str, str], Made] = field(default_factory=dict)

    def of(self, launch: Launch) -> Made:
        """What the compiler makes of a launch."""
        made = made_for(launch)
        try:
            text = dump(launch.made)
        except TritonError:  # the rungs will say so
            return made
        key = text, repr((made.options, sorted(launch.hints.items()), target.current().name))
        known = self._known.pop(key, None)
        if known is not None:
            made = replace(known, launch=launch)
        self._known[key] = made
        if len(self._known) > self.most:
            del self._known[next(iter(self._known))]
        return made


@dataclass(frozen=True)
class _Everywhere:
    """In the place of `barriers`: one before each access."""

    name: str = "barriers"

    def apply(self, function: Function) -> None:
        for operation in list(function.walk()):
            if operation.name in READS or operation.name in WRITES:
                made = Operation(OPS["barrier"], [], [], {}, location=operation.location)
                made.insert_before(operation)


def everywhere(made: Made) -> Made:
    """The same with a barrier before each access, needed or not."""

    def alter(chosen: list[passes.Pass]) -> list[passes.Pass]:
        return [_Everywhere() if one.name == "barriers" else one for one in chosen]

    return replace(made, alter=alter, _stages=None, _binaries={})


def without(made: Made, name: str) -> Made:
    """The same with one pass left out."""
    names = compiler.numbered([one.name for one in compiler.pipeline(made.options, {})])

    def alter(chosen: list[passes.Pass]) -> list[passes.Pass]:
        return [one for n, one in zip(names, chosen, strict=True) if n != name]

    return replace(made, alter=alter, _stages=None, _binaries={})


__all__ = ["Kept", "Made", "PassFailed", "Stage", "everywhere", "made_for", "without"]
