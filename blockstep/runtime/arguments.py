"""From the arguments of a launch to what the kernel's parameters are.

Each parameter becomes an `Argument`: a pointer with the view behind it, a number with its type, a
compile-time value, a tuple of arguments, or a descriptor. Specialisation is Triton 3.6's
(SURFACE.md section 5): the integer 1 and None are compile-time values, a float is float32, an
integer takes the first of int32, int64, uint64 that holds it, an annotation fixes the type.

Invariant: `bind` either gives one `Argument` a parameter, in order, or raises `ArgumentError`
before anything ran.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from blockstep.interp.memory import AddressSpace, View
from blockstep.language import types
from blockstep.language.constant import constexpr
from blockstep.runtime.arrays import Binding, element_type, is_array, view_of
from blockstep.runtime.device_memory import DeviceArrays
from blockstep.runtime.refusal import ArgumentError, ArgumentOverflow, CallError, UnknownKeyword

if TYPE_CHECKING:
    from blockstep.findings import Span

Kind = Literal["pointer", "scalar", "constexpr", "tuple", "descriptor"]
ACCEPTED = "arrays, tensors, int, float, bool, None, tuples, descriptors, tl.constexpr values"
_ALIGNMENT = 16


class Parameter(Protocol):
    """What is asked of a parameter of a jit function; the names are Triton's `KernelParam`."""

    @property
    def name(self) -> str: ...
    @property
    def is_constexpr(self) -> bool: ...
    @property
    def is_const(self) -> bool: ...
    @property
    def annotation_type(self) -> str: ...
    @property
    def do_not_specialize(self) -> bool: ...
    @property
    def has_default(self) -> bool: ...
    @property
    def default(self) -> Any: ...


@dataclass(slots=True)
class Argument:
    """One bound parameter, or one item of a tuple."""

    name: str
    kind: Kind
    value: Any = field(
        repr=False
    )  # the host's object; for numbers the number, for compile-time values the value
    type: Any = None  # a type of the language; None for a compile-time value
    view: View | None = None
    items: tuple[Argument, ...] = ()
    unaligned: bool = False  # nothing is to be derived from its being a multiple of 16

    @property
    def divisible(self) -> bool:
        """Whether Triton would know it to be a multiple of 16."""
        if self.unaligned:
            return False
        if self.view is not None:
            return self.view.base % _ALIGNMENT == 0
        if self.kind != "scalar" or not self.type.is_int() or self.type.is_int1():
            return False
        return bool(self.value % _ALIGNMENT == 0)

    @property
    def aligned(self) -> tuple[bool, ...]:
        """`divisible`, and of a descriptor whether each length of its array is a multiple of 16."""
        lengths = self.value.shape if self.kind == "descriptor" else ()
        return self.divisible, *[int(n) % _ALIGNMENT == 0 for n in lengths]

    def walk(self) -> Iterator[Argument]:
        """This argument and everything inside it."""
        yield self
        for item in self.items:
            yield from item.walk()


@dataclass(slots=True)
class Bound:
    """All arguments of a launch and the memory they lie in."""

    arguments: tuple[Argument, ...]
    binding: Binding
    by_name: dict[str, Argument] = field(init=False)

    def __post_init__(self) -> None:
        self.by_name = {a.name: a for a in self.arguments}

    @property
    def space(self) -> AddressSpace:
        """The address space of the launch."""
        return self.binding.space

    @property
    def values(self) -> dict[str, Any]:
        """The host's values by parameter, as a grid function sees them."""
        return {a.name: a.value for a in self.arguments}

    def finish(self) -> None:
        """After the launch: bring device arrays up to date."""
        self.binding.devices.copy_back()


def bind(
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    kernel: str = "",
    passed_at: Span | None = None,
    options: Collection[str] = (),
    devices: DeviceArrays | None = None,
) -> Bound:
    """Bind a call. `kwargs` has no launch options; `options` is their names, for the help;
    `devices` says how device memory is reached (by copies, if it is not given)."""
    binding = Binding(devices=devices or DeviceArrays(), passed_at=passed_at)
    try:
        values = match(parameters, args, kwargs, options)
        arguments = tuple(
            [
                _bound(parameter, value, binding)
                for parameter, value in zip(parameters, values, strict=True)
            ]
        )
    except ArgumentError as error:
        error.kernel = kernel
        raise
    for argument in arguments:
        _note_integers(argument, binding.space.integers)
    return Bound(arguments, binding)


def match(
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Collection[str] = (),
) -> list[Any]:
    """The value of each parameter in order: positional, by keyword, or the default."""
    if len(args) > len(parameters):
        raise CallError(
            "",
            f"{len(args)} positional arguments, but the kernel has {len(parameters)} parameters",
            fix=f"its parameters are ({', '.join(p.name for p in parameters)})",
        )  # fmt: skip
    if not kwargs and len(args) == len(parameters):
        return list(args)
    _check_keywords(parameters, args, kwargs, options)
    values = list(args)
    missing = []
    for parameter in parameters[len(args) :]:
        if parameter.name in kwargs:
            values.append(kwargs[parameter.name])
        elif parameter.has_default:
            values.append(parameter.default)
        else:
            missing.append(parameter)
    if missing:
        raise _missing(missing)
    return values


def _check_keywords(
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Collection[str],
) -> None:
    names = [p.name for p in parameters]
    for key in kwargs:
        if key in names[: len(args)]:
            raise CallError(
                key,
                f"argument `{key}` is given twice",
                fix=f"leave out {key}= or the positional one",
            )
        if key not in names:
            near = get_close_matches(key, [*names, *options], n=1)
            fix = (
                f"did you mean {near[0]}=?" if near else f"its parameters are ({', '.join(names)})"
            )
            raise UnknownKeyword(
                key,
                f"Keyword argument {key} was specified but unrecognised",
                fix=fix,
            )


def _missing(missing: Sequence[Parameter]) -> CallError:
    names = ", ".join(f"`{p.name}`" for p in missing)
    fix = ", ".join(f"{p.name}=..." for p in missing)
    kinds = {p.is_constexpr for p in missing}
    word = "tl.constexpr argument" if kinds == {True} else "argument"
    plural = "s" if len(missing) > 1 else ""
    return CallError(
        missing[0].name, f"missing a required argument: {word}{plural} {names}", fix=f"pass {fix}"
    )


def _bound(parameter: Parameter, value: Any, binding: Binding) -> Argument:
    argument = _bind_one(parameter, value, binding)
    argument.unaligned = not_aligned(parameter)
    return argument


def not_aligned(parameter: Parameter) -> bool:
    """Whether a kernel is to be the same for arguments that 16 divides and for others."""
    return parameter.do_not_specialize or getattr(
        parameter, "do_not_specialize_on_alignment", False
    )


def _bind_one(parameter: Parameter, value: Any, binding: Binding) -> Argument:
    name = parameter.name
    if parameter.is_constexpr:
        return Argument(name, "constexpr", value.value if type(value) is constexpr else value, None)
    kind = type(value)
    fixed = parse_type(parameter.annotation_type) if parameter.annotation_type else None
    if kind is int:
        return _integer(name, value, fixed, parameter.do_not_specialize)
    if fixed is not None and not fixed.is_ptr() and isinstance(value, (bool, int, float)):
        return _fixed(name, value, fixed)
    argument = specialise(name, value, binding, parameter.do_not_specialize)
    if argument.kind == "pointer" and argument.view is not None:
        element = (
            argument.view.dtype if not isinstance(fixed, types.pointer_type) else fixed.element_ty
        )
        argument.type = types.pointer_type(element, const=parameter.is_const)
    return argument


def specialise(name: str, value: Any, binding: Binding, keep: bool = False) -> Argument:
    """What a value is without an annotation; `keep` for one in `do_not_specialize`."""
    kind = type(value)
    if kind is int:
        return _integer(name, value, None, keep)
    if value is None:
        return Argument(name, "constexpr", None, None)
    if kind is bool:
        return Argument(name, "scalar", value, types.int1)
    if isinstance(value, float):  # numpy.float64 is one, too
        return Argument(name, "scalar", float(value), types.float32)
    if kind is constexpr:
        return Argument(name, "constexpr", value.value, None)
    if isinstance(value, tuple):
        return _tuple(name, value, binding)
    if is_descriptor(value):
        return _descriptor(name, value, binding)
    if is_array(value):
        view = view_of(value, name, binding)
        return Argument(name, "pointer", value, types.pointer_type(view.dtype), view)
    if isinstance(value, int):
        return _integer(name, int(value), None, keep)
    if is_jit_function(value):
        return Argument(name, "constexpr", value, None)
    raise _refused(name, value)


def _integer(name: str, value: int, fixed: Any, keep: bool) -> Argument:
    if fixed is not None and not fixed.is_ptr():
        return _fixed(name, value, fixed)
    if value == 1 and not keep:
        return Argument(name, "constexpr", 1, None)
    for candidate in (types.int32, types.int64, types.uint64):
        if candidate.lowest <= value <= candidate.highest:
            return Argument(name, "scalar", value, candidate)
    raise ArgumentOverflow(
        name,
        f"the integer {value}",
        accepted="-2**63 to 2**64 - 1",
        fix="pass it in two parts, or as a float",
    )


def _fixed(name: str, value: Any, fixed: types.dtype) -> Argument:
    """A number for a parameter whose annotation says the type."""
    if fixed.is_floating():
        return Argument(name, "scalar", float(value), fixed)
    if isinstance(value, float):
        raise ArgumentError(
            name,
            f"the float {value!r}",
            accepted=f"an integer (its annotation is {fixed})",
            fix=f"int({name})",
        )
    if fixed.is_int1():
        return Argument(name, "scalar", bool(value), fixed)
    if not (fixed.lowest <= value <= fixed.highest):
        raise ArgumentOverflow(
            name,
            f"the integer {value}",
            accepted=f"{fixed.lowest} to {fixed.highest} (its annotation is {fixed})",
            fix="annotate a wider type, e.g. tl.int64",
        )  # fmt: skip
    return Argument(name, "scalar", int(value), fixed)


def _tuple(name: str, value: tuple[Any, ...], binding: Binding) -> Argument:
    fields = getattr(value, "_fields", None)
    labels = (
        [f"{name}.{f}" for f in fields] if fields else [f"{name}[{i}]" for i in range(len(value))]
    )
    items = tuple(
        [specialise(label, item, binding) for label, item in zip(labels, value, strict=True)]
    )
    kinds = [types.constexpr_type(a.value) if a.kind == "constexpr" else a.type for a in items]
    return Argument(name, "tuple", value, types.tuple_type(kinds, fields), items=items)


def is_descriptor(x: Any) -> bool:
    """Whether `x` is a host tensor descriptor, ours or one of the same shape."""
    return all(hasattr(x, part) for part in ("base", "block_shape", "strides", "shape"))


def _descriptor(name: str, value: Any, binding: Binding) -> Argument:
    if not is_array(value.base):
        raise ArgumentError(
            name,
            f"a descriptor of {_described(value.base)}",
            accepted="descriptors of arrays",
            fix="",
        )
    view = view_of(value.base, name, binding)
    block = types.block_type(view.dtype, value.block_shape)
    return Argument(name, "descriptor", value, types.tensor_descriptor_type(block), view)


def is_jit_function(x: Any) -> bool:
    """Whether `x` is a jit function (or something that wraps one, such as a tuner)."""
    return callable(x) and hasattr(x, "fn") and (hasattr(x, "arg_names") or hasattr(x, "cache_key"))


def parse_type(text: str) -> types.dtype | None:
    """The type that Triton's short form names: `i32`, `u1`, `fp16`, `*fp32`, `*kbf16`."""
    if text.startswith("*"):
        const = text.startswith("*k")
        element = parse_type(text[1 + const :])
        return None if element is None else types.pointer_type(element, const=const)
    if text in ("i1", "u1"):
        return types.int1
    if text[:1] in ("i", "u") and text[1:].isdigit():
        return types.dtype(("int" if text[0] == "i" else "uint") + text[1:])
    return types.dtype(text) if types.dtype.is_dtype(text) and text != "void" else None


def _note_integers(argument: Argument, integers: dict[str, int]) -> None:
    for part in argument.walk():
        if type(part.value) is int:
            integers[part.name] = part.value


def _described(value: Any) -> str:
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    module = "tl." if module.startswith("blockstep.language.") else module
    text = repr(value)
    shown = f" {text}" if len(text) <= 40 and "\n" not in text and not text.startswith("<") else ""
    article = "an" if (module + kind.__qualname__)[0].lower() in "aeiou" else "a"
    return f"{article} {module}{kind.__qualname__}{shown}"


def _refused(name: str, value: Any) -> ArgumentError:
    if isinstance(value, (str, types.dtype)) or _is_foreign_dtype(value):
        fix = f"annotate the parameter: {name}: tl.constexpr"
    elif isinstance(value, np.generic):
        fix = f"pass a Python number: {name}.item()"
    elif isinstance(value, list):
        fix = f"pass a tuple, tuple({name}), or an array"
    elif isinstance(value, complex):
        fix = f"pass {name}.real and {name}.imag"
    else:
        fix = f"pass what is inside it, or annotate the parameter: {name}: tl.constexpr"
    return ArgumentError(name, _described(value), accepted=ACCEPTED, fix=fix)


def _is_foreign_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) or type(value).__name__ == "dtype"


__all__ = [
    "Argument",
    "ArgumentError",
    "ArgumentOverflow",
    "Bound",
    "CallError",
    "Parameter",
    "UnknownKeyword",
    "bind",
    "element_type",
    "is_descriptor",
    "is_jit_function",
    "match",
    "parse_type",
    "specialise",
]
