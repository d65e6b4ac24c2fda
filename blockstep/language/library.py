"""The mark of functions written in the language itself: `standard.py`, `random.py`.

They are plain Python functions that build on `tl` functions; in Triton their counterparts are jit
functions. Constexpr arguments reach them as the values inside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from blockstep.language.constant import constexpr, unwrap

F = TypeVar("F", bound=Callable[..., Any])


def library(function: F) -> F:
    """Marks `function` as callable inside kernels and unwraps its constexpr arguments.

    `fn` is the function itself, as on a jit function."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        plain = [unwrap(a) if type(a) in _WRAPPED else a for a in args]
        if kwargs:
            kwargs = {k: unwrap(v) for k, v in kwargs.items()}
        return function(*plain, **kwargs)

    call.__triton_builtin__ = True  # type: ignore[attr-defined]
    call.fn = function  # type: ignore[attr-defined]
    return cast(F, call)


_WRAPPED = (constexpr, tuple, list)

__all__ = ["library"]
