"""The operators and methods of a block: the language's own functions, attached once."""

from __future__ import annotations

from typing import Any

from blockstep.language import casting, elementwise
from blockstep.language.constant import unwrap
from blockstep.language.op import emit
from blockstep.language.ops.shape import EXPAND_DIMS
from blockstep.language.shape import expand_dims
from blockstep.language.value import slice as tl_slice
from blockstep.language.value import tensor

_OPERATORS: dict[str, Any] = {
    "add": elementwise.add,
    "sub": elementwise.sub,
    "mul": elementwise.mul,
    "truediv": elementwise.truediv,
    "floordiv": elementwise.floordiv,
    "mod": elementwise.mod,
    "and": elementwise.and_,
    "or": elementwise.or_,
    "xor": elementwise.xor,
    "lshift": elementwise.lshift,
    "rshift": elementwise.rshift,
}
_COMPARISONS: dict[str, Any] = {
    "lt": elementwise.less_than,
    "le": elementwise.less_equal,
    "gt": elementwise.greater_than,
    "ge": elementwise.greater_equal,
    "eq": elementwise.equal,
    "ne": elementwise.not_equal,
}
_UNARY: dict[str, Any] = {
    "neg": elementwise.minus,
    "invert": elementwise.invert,
}


def _reflected(function: Any) -> Any:
    def apply(self: tensor, other: Any) -> Any:
        return function(other, self)

    return apply


def _comparison(function: Any) -> Any:
    def apply(self: tensor, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else function(self, other)

    return apply


def _getitem(self: tensor, index: Any) -> Any:
    """`x[:, None]`: `None` makes an axis of length 1; only full slices keep one."""
    if not isinstance(index, tuple):
        index = (index,)
    result, axis = self, 0
    for part in index:
        part = unwrap(part)
        if part is None:
            result = _with_axis(result, axis)
        elif not (isinstance(part, (slice, tl_slice)) and _is_full(part)):
            pointer = self.type.scalar.is_ptr()
            other = "add offsets to a pointer, p + i" if pointer else "tl.gather takes elements out"
            raise ValueError(
                f"unsupported tensor index: {part} ({other}; `None` and `:` work here)"
            )
        axis += 1
    return result


def _with_axis(x: tensor, axis: int) -> Any:
    rank = len(x.type.shape)
    if rank == 0:  # every axis of a scalar is the first
        return expand_dims(x, 0)
    if axis > rank:
        return expand_dims(x, axis)
    return emit(EXPAND_DIMS, x, axis=axis, rank=rank)


def _is_full(part: Any) -> bool:
    return unwrap(part.start) is None and unwrap(part.stop) is None and unwrap(part.step) is None


def _truth(self: tensor) -> bool:
    from blockstep.language.op import machine

    return machine.get().truth(self, "branch")


def _no_power(self: tensor, other: Any) -> Any:
    """Raises TypeError: blocks have no `**`."""
    raise TypeError(
        "blocks have no `**`: multiply, or use tl.exp2(y * tl.log2(x)) or libdevice.pow"
    )


def _no_index(self: tensor) -> int:
    """Raises TypeError: indices, axes and lengths are known when the kernel is compiled."""
    raise TypeError(f"a constexpr is needed here, not a run-time {self.type}")


_OTHERS = {
    "__index__": _no_index,
    "__pow__": _no_power,
    "__rpow__": _no_power,
    "__getitem__": _getitem,
    "__bool__": _truth,
    "__not__": elementwise.logical_not,
    "logical_and": elementwise.logical_and,
    "logical_or": elementwise.logical_or,
    "to": casting.to,
}


def attach() -> None:
    """Gives `tensor` its operators."""
    for name, function in _OPERATORS.items():
        setattr(tensor, f"__{name}__", function)
        setattr(tensor, f"__r{name}__", _reflected(function))
    for name, function in _COMPARISONS.items():
        setattr(tensor, f"__{name}__", _comparison(function))
    for name, function in _UNARY.items():
        setattr(tensor, f"__{name}__", function)
    for name, function in _OTHERS.items():
        setattr(tensor, name, function)


METHODS = (
    "abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_max "
    "atomic_min atomic_or atomic_xchg atomic_xor broadcast_to cast cdiv ceil cos cumprod cumsum "
    "erf exp exp2 expand_dims flip floor gather histogram item log log2 max min permute ravel "
    "reduce reduce_or reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn store sum trans "
    "view xor_sum"
).split()


def attach_methods(functions: dict[str, Any]) -> None:
    """`x.name(...)` for the functions of `METHODS`; `x.T` for the transposed 2-D block."""
    for name, method in {n: functions[n] for n in METHODS}.items():
        setattr(tensor, name, method)
    permute = functions["permute"]
    tensor.T = property(lambda x: permute(x, 1, 0))  # type: ignore[attr-defined]


__all__ = ["attach", "attach_methods"]
