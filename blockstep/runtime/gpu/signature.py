"""The short way from the arguments of a call to a key and values: statements written for one kernel.

`kernel[grid](x, y, n, BLOCK=1024)` must find its prepared launch within a microsecond or two. A
`Form` is how a call passes its arguments; for each, `reading` writes the statements that take
`args` and `kwargs` apart and make of them

* a key: all that the compiled code depends on. Type, device and alignment of arrays; type of
  numbers, whether they are 1 and whether 16 divides them; values of compile-time parameters and of
  options. It is flat: one tuple is made, and comparing it with another calls nothing.
* the values, one a parameter: addresses of arrays, numbers, tuples of these; a descriptor is
  (address, shape, strides).
* the arguments themselves, for grids that are functions.

Invariant: equal keys mean equal specialisation, whatever the forms. What the statements do not know
raises `Slow`, KeyError, TypeError or AttributeError, and the launch then goes the long way, through
`arguments.bind`, which knows all.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from blockstep.compiler.frontend.cache import exact
from blockstep.language import types
from blockstep.language.constant import constexpr
from blockstep.runtime.arguments import Parameter, is_descriptor, not_aligned, parse_type
from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.gpu.streams import is_cupy
from blockstep.runtime.launch_options import OPTIONS

Read = tuple[tuple[Hashable, ...], tuple[Any, ...], dict[str, Any]]
Described = tuple[Hashable, Hashable, Hashable, Any]  # three parts of the key, and the value
LOWEST, HIGHEST = types.int32.lowest, types.int32.highest
LIMITS = (types.int64.lowest, types.int64.highest, types.uint64.highest)
_TOLD = "_told"  # what a descriptor keeps of its key and value
_PLAIN = (int, bool, str, type(None))


class Slow(Exception):
    """A launch that only the long way understands."""


class Form(NamedTuple):
    """How a call passes its arguments: how many by position, and which by name."""

    positional: int
    keywords: tuple[str, ...]


def form_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Form:
    """The form of a call."""
    return Form(len(args), tuple(kwargs))


@dataclass(slots=True)
class Reading:
    """Statements that read `args` and `kwargs` of one form, and what stands ready after them. Their
    names are single letters with a number, `t`, and those of `space`."""

    fits: str  # the condition under which a call can be of the form
    lines: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    space: dict[str, Any] = field(default_factory=dict)


def reading(parameters: Sequence[Parameter], form: Form) -> Reading:
    """The statements for a kernel and a form. Raises Slow for a form that does not bind."""
    passed = f"len(args) == {form.positional} and len(kwargs) == {len(form.keywords)}"
    made = Reading(passed, space={"Tensor": _tensor(), "constant": constant})
    names = [p.name for p in parameters]
    if form.positional > len(names) or {*names[: form.positional]} & {*form.keywords}:
        raise Slow
    if form.positional:
        made.lines.append("".join(f"a{i}, " for i in range(form.positional)) + "= args")
    for i, parameter in enumerate(parameters):
        if parameter.name in form.keywords:
            made.lines.append(f"a{i} = kwargs[{parameter.name!r}]")
        elif i >= form.positional:
            if not parameter.has_default:
                raise Slow
            made.space[f"default{i}"] = parameter.default
            made.lines.append(f"a{i} = default{i}")
        _argument(parameter, i, made)
        made.given.append(f"{parameter.name!r}: a{i}")
    _options(sorted({*form.keywords} - {*names}), made)
    both = {*form.keywords} & {*names} & {*OPTIONS}  # by name, they are options too
    made.keys += [repr(name) for name in sorted(both)]
    return made


def _options(names: Sequence[str], made: Reading) -> None:
    for i, name in enumerate(names):
        made.lines.append(f"o{i} = kwargs[{name!r}]")
        made.keys.append(repr(name))
        _constant(f"o{i}", made)


def reader(
    parameters: Sequence[Parameter], form: Form
) -> Callable[[tuple[Any, ...], Mapping[str, Any]], Read]:
    """The function of a kernel and a form that does nothing but read: from `args` and `kwargs` it
    gives (key, values, arguments by name)."""
    made = reading(parameters, form)
    lines = [f"if not ({made.fits}): raise KeyError", *made.lines, f"return {tuple_of(made.keys)}, "
             f"{tuple_of(made.values)}, {{{', '.join(made.given)}}}"]  # fmt: skip
    text = "\n    ".join(["def read(args, kwargs):", *lines])
    exec(compile(text, "<reader of launches>", "exec"), made.space)
    read: Callable[[tuple[Any, ...], Mapping[str, Any]], Read] = made.space["read"]
    return read


def tuple_of(parts: Sequence[str]) -> str:
    """The expression of a tuple."""
    return f"({''.join(f'{part}, ' for part in parts)})"


def _constant(name: str, made: Reading) -> None:
    """A compile-time value stands in the key as it is where it is an integer."""
    made.keys.append(f"{name} if type({name}) is int else constant({name})")


def _argument(parameter: Parameter, i: int, made: Reading) -> None:
    """Statements that make the key and the value of one argument; the commonest kinds stand
    first."""
    if parameter.is_constexpr:
        _constant(f"a{i}", made)
        made.values.append(f"a{i}")
        return
    fixed = parse_type(parameter.annotation_type) if parameter.annotation_type else None
    keep, unaligned = parameter.do_not_specialize, not_aligned(parameter)
    made.space[f"other{i}"] = functools.partial(
        describe, keep=keep, unaligned=unaligned, fixed=fixed
    )
    made.lines += [
        f"t = type(a{i})",
        "if t is Tensor:",
        f"    k{i}, d{i}, v{i} = a{i}.dtype, a{i}.get_device(), a{i}.data_ptr()",
        f"    b{i} = {'True' if unaligned else f'v{i} & 15 == 0'}",
    ]
    if fixed is None:
        plain = f"{LOWEST} <= a{i} <= {HIGHEST}" + ("" if keep else f" and a{i} != 1")
        made.lines += [
            f"elif t is int and {plain}:",
            f"    k{i} = d{i} = 'int'",
            f"    v{i} = a{i}",
            f"    b{i} = {'True' if unaligned else f'a{i} & 15 == 0'}",
        ]
    made.lines += ["else:", f"    k{i}, d{i}, b{i}, v{i} = other{i}(a{i})"]
    made.keys += [f"k{i}", f"d{i}", f"b{i}"]
    made.values.append(f"v{i}")


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
) -> Described:
    """Key and value of an argument that is no compile-time one. Raises Slow. Of an array it tells
    what the statements tell, which may have been written before its library was loaded."""
    kind = x.__class__
    if kind is TensorDescriptor:
        key, x = _known_descriptor(x, unaligned)
    elif kind is int:
        key, x = _integer(x, keep, unaligned, fixed)
    elif kind is float:
        key = ("float", str(fixed)) if fixed is None or fixed.is_floating() else _slow()
    elif kind is bool:
        key = "bool" if fixed is None or fixed.is_int1() else _slow()
    elif x is None:
        key = None
    elif isinstance(x, tuple):
        parts = [describe(item) for item in x]
        key, x = (kind, *(part[:3] for part in parts)), tuple([part[3] for part in parts])
    elif is_descriptor(x):
        key, x = _descriptor(x, unaligned)
    else:
        return _array(x, unaligned)
    return key, None, None, x


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


def _array(x: Any, unaligned: bool) -> Described:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        address = x.data_ptr()
        return x.dtype, x.get_device(), unaligned or address & 15 == 0, address
    if is_cupy(x):
        address = int(x.data.ptr)
        return x.dtype, x.device.id, unaligned or address & 15 == 0, address
    raise Slow


def _known_descriptor(x: Any, unaligned: bool) -> tuple[Hashable, Any]:
    """As `_descriptor`, which is asked again only where a part of the descriptor is another one."""
    now = (x.base, x.shape, x.strides, x.block_shape, x.padding, x.round_f32_to_tf32, unaligned)
    base, *parts = now
    known = x.__dict__.get(_TOLD)
    if known is not None:
        before, same, (key, value) = known
        if before is base and same == parts and base.data_ptr() == value[0]:
            return key, value
    found = _descriptor(x, unaligned)
    if all(isinstance(part, list | tuple) for part in now[1:4]) and hasattr(base, "data_ptr"):
        lists = [list(p) if isinstance(p, list) else p for p in parts]  # theirs may be changed
        x.__dict__[_TOLD] = base, lists, found
    return found


def _descriptor(x: Any, unaligned: bool) -> tuple[Hashable, Any]:
    *key, address = _array(x.base, unaligned)
    rest = getattr(x, "padding", "zero"), getattr(x, "round_f32_to_tf32", False)
    shape = tuple([int(n) for n in x.shape])
    strides = tuple([int(n) for n in x.strides])
    whole = tuple([n & 15 == 0 for n in shape])
    return ("descriptor", *key, tuple(x.block_shape), whole, rest), (address, shape, strides)
