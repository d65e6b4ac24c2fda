"""Precision: NaN that reaches memory or decides something, and where it was born.

NaN is often legal, so this checker runs only where it is asked for. A NaN is reported where it is
stored, where an atomic leaves it, where it is a branch's condition, and where a comparison with it
decides a branch, a mask, an address or a bound. Nothing is said of a NaN that is discarded: chosen
away by `tl.where`, dropped by a maximum, masked off.

A matrix product that rounds float32 operands to tf32 is reported where nothing in the source asks for
it and elements lose bits by it.

The checker follows every value (`interp.followed`) with the facet `interp.births`, and every NaN in
memory (`interp.nan_memory`) within one launch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from blockstep.findings import (
    Access,
    Argument,
    Birth,
    Lanes,
    NaNReached,
    Program,
    ReadsTf32,
    Site,
    Span,
    elements_of,
)
from blockstep.interp import births, nan_values, tf32
from blockstep.interp.births import Births, Origins, births_of
from blockstep.interp.events import Checker, Launched
from blockstep.interp.nan_memory import NanMemory
from blockstep.language import numerics
from blockstep.language.frames import user_site
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple


class Precision(Checker):
    """Follows NaN from birth to where it matters."""

    name: ClassVar[str] = "precision"

    def launch(self, launch: Launched) -> None:
        """A launch begins, and no NaN is known."""
        super().launch(launch)
        self._register = births.Register()
        self._memory = NanMemory(self._register)
        # What each program instance accesses in the operation that it executes, and what an atomic
        # found and left: an instance that waits is in the middle of its own.
        self._accesses: dict[Program, list[Access]] = {}
        self._atomics: dict[Access, tuple[Any, Any, Any]] = {}

    def argument(self, name: str, value: Any) -> None:
        """A scalar argument may be NaN."""
        if isinstance(value, tl_tuple):
            for part in value:
                self.argument(name, part)
        elif isinstance(value, tensor) and value.type.is_floating() and np.isnan(value.handle):
            origins: Origins = {}
            birth = Birth(
                "passed", self.launched.host or Span("", 0), argument=name,
                type_text=value.type.codegen_name(),
            )  # fmt: skip
            nothing = np.zeros((), np.int64)
            births.give(value, self._register.add(nothing, origins, True, lambda _: birth), origins)

    def access(self, access: Access) -> None:
        """Remembers an access until its operation is done."""
        self._accesses.setdefault(access.program, []).append(access)

    def atomic(self, access: Access, old: Any, new: Any, changed: Any) -> None:
        """Remembers what an atomic found and left."""
        self._atomics[access] = np.reshape(old, access.shape), new, changed

    def value(
        self,
        program: Program,
        op: Op,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
        result: Any,
    ) -> Any:
        """After an operation: births of its result; NaN that it leaves in memory is reported, and
        float32 that it reads as tf32 by default."""
        if op.name == "dot":
            self._product(program, operands, attributes)
        if op.family is not Family.MEMORY:
            return nan_values.follow(self._register, program, op, operands, attributes, result)
        accesses = self._accesses.pop(program, [])
        if result is not None:
            other = births_of(operands[2]) if op.name == "load" else None
            result = self._memory.loaded(accesses, other, result)
        for access in accesses:
            if access.kind == "write":
                self._tell("store", access, self._memory.stored(access, operands[1]))
            elif access in self._atomics:
                seen = self._atomics.pop(access)
                if op.name != "atomic_load":
                    given = operands[2] if op.name == "atomic_cas" else operands[1]
                    self._tell("atomic", access, self._memory.updated(access, given, *seen))
        return result

    def _product(
        self, program: Program, operands: tuple[Any, ...], attributes: dict[str, Any]
    ) -> None:
        site = user_site()
        if not tf32.may_lose("dot", operands[0].type.scalar, attributes, site.span):
            return
        found = tf32.losing([x.handle for x in operands[:2]])
        if found is not None:
            place, lanes = found
            first = np.asarray(operands[place].handle)[lanes][0]
            self.found(
                ReadsTf32, site, program, operand=place, lanes=Lanes.of(lanes), value=str(first),
                read_as=str(numerics.tf32(first)),
            )  # fmt: skip

    def branch(self, program: Program, value: Any, site: Site) -> None:
        """NaN itself as a condition counts as true."""
        found = births_of(value)
        if found is not None and value.type.scalar.is_floating():
            self.found(
                NaNReached, site, program, sink="branch", op="if",
                lanes=Lanes.of(np.ones(value.type.shape, bool)), birth=found.birth(0),
            )  # fmt: skip

    def _tell(self, sink: str, access: Access, found: Births | None) -> None:
        if found is None or not found.origins:
            return
        lanes, view = found.ids != 0, access.view
        self.found(
            NaNReached,
            access.site,
            access.program,
            sink=sink,
            op=access.op,
            lanes=Lanes.of(lanes),
            birth=found.birth(int(np.argmax(np.ravel(lanes)))),
            argument=None if view is None else Argument.of(view),
            elements=() if view is None else elements_of(view, access.addresses[lanes]),
        )
