"""The short way from the arguments of a call to a key and values: a function written for one kernel.

`kernel[grid](x, y, n, BLOCK=1024)` must find its prepared launch within a microsecond or two. The
function that `reader` writes is called with the very arguments, so that Python itself binds them,
and gives

* a key: all that the compiled code depends on. Type, device and alignment of arrays; type of
  numbers, whether they are 1 and whether 16 divides them; values of compile-time parameters; options.
* the values, one a parameter: addresses of arrays, numbers, tuples of these; a descriptor is
  (address, shape, strides).
* the arguments themselves, for grids that are functions.

Invariant: equal keys mean equal specialisation. What it does not know raises `Slow`, TypeError or
AttributeError, and the launch then goes the long way, through `arguments.bind`, which knows all.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from blockstep.compiler.frontend.cache import exact
from blockstep.language import types
from blockstep.language.constant import constexpr
from blockstep.runtime.arguments import Parameter, is_descriptor, not_aligned, parse_type
from blockstep.runtime.gpu.streams import is_cupy

Read = tuple[tuple[Hashable, ...], tuple[Any, ...], tuple[Any, ...]]
LOWEST, HIGHEST = types.int32.lowest, types.int32.highest
LIMITS = (types.int64.lowest, types.int64.highest, types.uint64.highest)
_PLAIN = (int, bool, str, type(None))


class Slow(Exception):
    """An argument that only the long way understands."""


def reader(parameters: Sequence[Parameter]) -> Callable[..., Read]:
    """The function for a kernel: called as the kernel is, it gives (key, values, arguments)."""
    names = [p.name for p in parameters]
    own = "_"  # what the names of our own begin with
    while any(name.startswith(own) for name in names):
        own += "_"
    space: dict[str, Any] = {f"{own}Tensor": _tensor(), f"{own}constant": constant}
    heads, lines = [], []
    for i, parameter in enumerate(parameters):
        default = f"={own}d{i}" if parameter.has_default else ""
        space[f"{own}d{i}"] = parameter.default
        heads.append(f"{parameter.name}{default}")
        lines += _lines(parameter, own, i, space)
    keys = "".join(f"{own}k{i}, " for i in range(len(names)))
    values = "".join(f"{own}v{i}, " for i in range(len(names)))
    given = "".join(f"{name}, " for name in names)
    lines.append(f"return ({keys}*{own}options.items()), ({values}), ({given})")
    body = "\n    ".join([f"def {own}read({', '.join([*heads, f'**{own}options'])}):", *lines])
    exec(compile(body, "<reader of launches>", "exec"), space)
    made: Callable[..., Read] = space[f"{own}read"]
    return made


def _lines(parameter: Parameter, own: str, i: int, space: dict[str, Any]) -> list[str]:
    """Statements that make the key and the value of one argument; the commonest kinds stand
    first."""
    name, k, v, other = parameter.name, f"{own}k{i}", f"{own}v{i}", f"{own}o{i}"
    if parameter.is_constexpr:
        return [f"{v} = {name}", f"{k} = {own}constant({name})"]
    fixed = parse_type(parameter.annotation_type) if parameter.annotation_type else None
    keep, unaligned = parameter.do_not_specialize, not_aligned(parameter)
    space[other] = functools.partial(describe, keep=keep, unaligned=unaligned, fixed=fixed)
    lines = [
        f"{own}t = {name}.__class__",
        f"if {own}t is {own}Tensor:",
        f"    {v} = {name}.data_ptr()",
        f"    {k} = {name}.dtype, {name}.get_device(), {unaligned} or {v} & 15 == 0",
    ]
    if fixed is None:
        plain = f"{LOWEST} <= {name} <= {HIGHEST}" + ("" if keep else f" and {name} != 1")
        lines += [
            f"elif {own}t is int and {plain}:",
            f"    {v} = {name}",
            f"    {k} = {unaligned} or {name} & 15 == 0",
        ]
    return [*lines, "else:", f"    {k}, {v} = {other}({name})"]


def _tensor() -> Any:
    torch = sys.modules.get("torch")
    return getattr(torch, "Tensor", Slow)


def constant(value: Any) -> Hashable:
    """The key of a compile-time value, in which 1 and True differ."""
    kind = value.__class__
    if kind is constexpr:
        value = value.value
        kind = value.__class__
    return (kind, value) if kind in _PLAIN else exact(value)


def describe(
    x: Any, keep: bool = False, unaligned: bool = False, fixed: types.dtype | None = None
) -> tuple[Hashable, Any]:
    """Key and value of an argument that is no compile-time one. Raises Slow."""
    kind = x.__class__
    if kind is int:
        return _integer(x, keep, unaligned, fixed)
    if kind is float:
        return (("float", str(fixed)) if fixed is None or fixed.is_floating() else _slow()), x
    if kind is bool:
        return ("bool" if fixed is None or fixed.is_int1() else _slow()), x
    if x is None:
        return None, None
    if isinstance(x, tuple):
        parts = [describe(item) for item in x]
        return (kind, *(key for key, _ in parts)), tuple([value for _, value in parts])
    if is_descriptor(x):
        return _descriptor(x, unaligned)
    return _array(x, unaligned)


def _slow() -> Any:
    raise Slow


def _integer(
    x: int, keep: bool, unaligned: bool, fixed: types.dtype | None
) -> tuple[Hashable, int]:
    aligned = unaligned or x & 15 == 0
    if fixed is not None and not fixed.is_ptr():
        if not fixed.is_int() or fixed.is_int1() or not fixed.lowest <= x <= fixed.highest:
            raise Slow
        return ("fixed", aligned), x
    if x == 1 and not keep:
        return "one", x
    if LOWEST <= x <= HIGHEST:
        return aligned, x
    low, high, most = LIMITS
    if not low <= x <= most:
        raise Slow
    return ("wide" if x <= high else "unsigned", aligned), x


def _array(x: Any, unaligned: bool) -> tuple[Hashable, int]:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        address = x.data_ptr()
        return (x.dtype, x.get_device(), unaligned or address & 15 == 0), address
    if is_cupy(x):
        address = int(x.data.ptr)
        return (x.dtype, x.device.id, unaligned or address & 15 == 0), address
    raise Slow


def _descriptor(x: Any, unaligned: bool) -> tuple[Hashable, Any]:
    key, address = _array(x.base, unaligned)
    rest = getattr(x, "padding", "zero"), getattr(x, "round_f32_to_tf32", False)
    shape = tuple([int(n) for n in x.shape])
    strides = tuple([int(n) for n in x.strides])
    whole = tuple([n & 15 == 0 for n in shape])
    return ("descriptor", key, tuple(x.block_shape), whole, rest), (address, shape, strides)
