"""What library code declares about its own functions and classes, and names of `tl.core` kept for
it.

`aggregate` makes a class whose instances kernels build and pass on; `must_use_result` marks
functions whose result may not be dropped; `builtin` marks Python functions that kernels call as
they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_type_hints, overload

from blockstep.errors import UnsupportedError
from blockstep.language import types as ty
from blockstep.language.constant import constexpr
from blockstep.language.interface import KernelInterface

F = TypeVar("F")

CONSTEXPR_0 = constexpr(0)
base_type = ty.dtype
slice_type = ty.tuple_type
tensor_descriptor_base_type = ty.tensor_descriptor_type


@overload
def must_use_result(x: str) -> Callable[[F], F]: ...


@overload
def must_use_result(x: F, s: Any = True) -> F: ...


def must_use_result(x: Any, s: Any = True) -> Any:
    """Mark a function: a kernel that calls it and drops the result is rejected. A text says why.

    `@must_use_result` and `@must_use_result("use it like this: ...")`."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x


def builtin(fn: F) -> F:
    """Mark a Python function that kernels call as it is."""
    fn.__triton_builtin__ = True  # type: ignore[attr-defined]
    return fn


def extern(fn: F) -> F:
    """Mark a function that stands for one of a bitcode library."""
    return builtin(fn)


def is_builtin(fn: Any) -> bool:
    """Whether kernels call `fn` as it is."""
    return bool(getattr(fn, "__triton_builtin__", False))


def extern_elementwise(
    lib_name: str,
    lib_path: str,
    args: Sequence[Any],
    arg_type_symbol_dict: dict[Any, Any],
    is_pure: bool,
    **kwargs: Any,
) -> Any:
    """Refuse: functions of other bitcode libraries are not known here. `tl.extra.libdevice` is."""
    symbols = sorted({str(symbol[0]) for symbol in arg_type_symbol_dict.values()})
    raise UnsupportedError(
        f"unsupported: blockstep does not know {', '.join(symbols)} of {lib_name}"
    )


def aggregate(cls: type) -> type:
    """Make `cls` a class of values that kernels build, pass to functions and carry through loops.

    Each annotated field has to be set by `__init__`, to a value of its type; other attributes are
    free.
    """
    if "__init__" in vars(cls) and isinstance(vars(cls)["__init__"], KernelInterface):
        raise ValueError(f"{cls.__name__}.__init__ is a plain Python function, not a jit function")

    given: Any = cls.__init__  # type: ignore[misc]
    initialise = getattr(given, "fn", given)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)  # also of a constexpr_function, which gets values here
        for name in inspect.get_annotations(cls):
            if not hasattr(self, name):
                text = f"constructor for {cls.__name__} did not initialize attribute '{name}'"
                raise AttributeError(text)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        object.__setattr__(self, name, _field(cls, name, value))

    members = {
        "__init__": __init__,
        "__setattr__": __setattr__,
        "__triton_aggregate__": True,
        "__blockstep_value__": True,
    }
    names = ("__module__", "__qualname__", "__doc__")
    return type(cls.__name__, (cls,), {**members, **{n: getattr(cls, n) for n in names}})


def _field(cls: type, name: str, value: Any) -> Any:
    """`value` as the field holds it: of the annotated type, constants wrapped."""
    kind = _hints(cls).get(name)
    if not isinstance(kind, type):
        return value
    if kind is constexpr and not isinstance(value, constexpr):
        return constexpr(value)
    if not isinstance(value, kind):
        raise TypeError(f"Expected {kind} for attribute '{name}', got {type(value)}")
    return value


@functools.lru_cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls)
    except NameError:
        return inspect.get_annotations(cls)
