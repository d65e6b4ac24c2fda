"""IR is made once for a function, the types of its arguments, its compile-time values and a target.

Invariant: an entry serves only as long as every function that was compiled into it has the text it
had, and every outer name or path that those functions read stands for the object it stood for.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from blockstep import target
from blockstep.ir import Function
from blockstep.language.function import JITFunction
from blockstep.language.names import Identities
from blockstep.language.transform import Prepared


@dataclass(frozen=True, eq=False, slots=True)
class Entry:
    """IR and what it was made from."""

    made: Function
    sources: tuple[tuple[JITFunction, Prepared, Identities], ...]

    def holds(self) -> bool:
        """Whether compiling again would give the same."""
        return all(
            function.prepared is prepared and prepared.names.identities() == then
            for function, prepared, then in self.sources
        )


def find(function: JITFunction, key: Hashable) -> Function | None:
    """The IR that was kept for this key, if it still holds."""
    entry: Entry | None = function.device_caches.get("ir", {}).get(key)
    return entry.made if entry is not None and entry.holds() else None


def keep(
    function: JITFunction, key: Hashable, made: Function, compiled: Sequence[JITFunction]
) -> None:
    """Remembers IR and the functions that were compiled into it."""
    sources = [(f, f.prepared, f.prepared.names.identities()) for f in dict.fromkeys(compiled)]
    function.device_caches.setdefault("ir", {})[key] = Entry(made, tuple(sources))


def key_of(arguments: Any) -> Hashable:
    """What of the bound arguments of a launch the IR depends on."""
    return id(target.current()), tuple([_key(a) for a in arguments])


def _key(argument: Any) -> Hashable:
    if argument.kind == "constexpr":
        return argument.name, exact(argument.value)
    if argument.kind == "tuple":
        return argument.name, type(argument.value), tuple([_key(a) for a in argument.items])
    if argument.kind == "descriptor":
        told = argument.value
        rest = getattr(told, "padding", "zero"), getattr(told, "round_f32_to_tf32", False)
        return argument.name, argument.view.dtype, tuple(told.block_shape), rest
    return argument.name, argument.type


def exact(value: Any) -> Hashable:
    """A key of a compile-time value in which 1, 1.0 and True differ, and 0.0 and -0.0."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple([exact(v) for v in value])
    try:
        hash(value)
    except TypeError:
        return type(value), id(value)
    return type(value), value
