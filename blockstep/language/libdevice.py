"""`tl.extra.libdevice`: CUDA's library of device functions, one function for each name.

Operands must have exactly the types of one overload: there is no promotion, and a Python number
counts as int32, float32 or as its literal type says. The table of names, overloads and meanings is
`blockstep.language.ops.libdevice`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from blockstep.language.op import emit
from blockstep.language.ops.libdevice import CALL, LIBDEVICE, Function
from blockstep.language.promotion import broadcast, to_tensor


def _function(called: Function) -> Callable[..., Any]:
    names = [f"arg{i}" for i in range(len(called.overloads[0].operands))]
    signature = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def call(*operands: Any, **named: Any) -> Any:
        values = [to_tensor(x) for x in signature.bind(*operands, **named).args]
        for i in range(1, len(values)):
            values[0], values[i] = broadcast(values[0], values[i])
        values = [broadcast(x, values[0])[0] for x in values]
        return emit(CALL, *values, function=called.name)

    call.__name__ = call.__qualname__ = called.name
    call.__doc__ = f"{called.doc[:1].upper()}{called.doc[1:]}. Takes {called.accepted()}."
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__triton_builtin__ = True  # type: ignore[attr-defined]
    return call


_FUNCTIONS = {name: _function(called) for name, called in LIBDEVICE.items()}
globals().update(_FUNCTIONS)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"libdevice has no function {name!r}")


__all__ = list(_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]
