"""Run-time values: `tensor` (a block or a scalar), and the language's tuple and slice.

Invariant: `handle` is whatever the machine in force computes with (a NumPy array or scalar of
exactly `type.numpy` on the step machine); a machine may keep a block in a compact `form` until
somebody asks for the handle. The facets beside it are owned by checkers and absent (None) almost
always: `marks` maps a facet's name to the marked elements, `origin` is the argument view a pointer
came from, `bounds` are limits of an integer value. `births` (where each NaN was born) is not even
set unless that checker was asked for: ask `blockstep.interp.births.births_of`. Nor is `made` (the
operation that a value comes from) where nobody writes operations down (`blockstep.interp.blame`).
Operators and methods are attached in `blockstep.language.members`.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.language.constant import unwrap
from blockstep.language.types import dtype, tuple_type


class tensor:
    """A value of the language: a block of elements, or a scalar (shape `()`)."""

    __slots__ = (
        "_handle",
        "type",
        "form",
        "marks",
        "origin",
        "bounds",
        "stretched",
        "births",
        "shadow",
        "made",
    )
    __blockstep_value__ = True
    __array_ufunc__ = None  # NumPy arrays and scalars hand binary operators over to us

    type: dtype
    form: Any
    marks: dict[str, Any] | None
    origin: Any
    bounds: builtins.tuple[int, int] | None
    births: Any  # facets of the precision checkers; unset of almost every value
    shadow: Any
    made: Any
    stretched: tensor | None  # this scalar repeated into a block, if the machine keeps that

    def __init__(self, handle: Any, type: dtype) -> None:
        self._handle = handle
        self.type = type
        self.form = None
        self.marks = None
        self.origin = None
        self.bounds = None
        self.stretched = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        __add__: Any
        __sub__: Any
        __mul__: Any
        __and__: Any
        __getitem__: Any

    @property
    def handle(self) -> Any:
        """What the machine computes with."""
        handle = self._handle
        if handle is None and self.form is not None:
            handle = self._handle = self.form.dense(self.type)
        return handle

    @property
    def dtype(self) -> dtype:
        """The type of one element."""
        return self.type.scalar

    @property
    def shape(self) -> builtins.tuple[int, ...]:
        """The block's shape; `()` for a scalar."""
        return self.type.shape

    @property
    def numel(self) -> int:
        count = 1
        for n in self.type.shape:
            count *= n
        return count

    def __repr__(self) -> str:
        return describe(self)

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        from blockstep.page.notebook import of_value  # for a notebook, which is none of ours

        return of_value(self)

    def __iter__(self) -> Any:
        raise TypeError("a block cannot be iterated; index it with [:, None] or use tl.split")

    def __hash__(self) -> int:
        return id(self)


def describe(x: tensor, limit: int = 40) -> str:
    """What a person reads at a debugger's prompt: type, shape, values, and which are undefined."""
    text = f"{x.type}"
    if not isinstance(x.handle, (np.ndarray, np.generic)):
        return f"<{text}>"
    if x.type.scalar.is_ptr():
        return f"<{text} {_pointers(x)}>"
    with np.printoptions(threshold=limit, edgeitems=3, precision=6):
        values = np.array2string(np.asarray(x.handle), separator=", ")
    taint = (x.marks or {}).get("poison")
    undefined = None if taint is None else taint.lanes
    if undefined is None:
        return f"<{text} {values}>" if "\n" not in values else f"<{text}\n{values}>"
    lost = int(np.count_nonzero(np.broadcast_to(undefined, x.shape)))
    where = _runs(np.broadcast_to(undefined, x.shape)) if len(x.shape) == 1 else ""
    return f"<{text} {values}, {lost} of {x.numel} undefined{where}>"


def _pointers(x: tensor) -> str:
    """Pointers by the argument they came from and their element offsets, never as addresses."""
    view = x.origin
    if view is None or isinstance(view, builtins.tuple):
        return "to memory"
    offsets = (np.asarray(x.handle) - view.base) // max(x.type.scalar.element_ty.itemsize, 1)  # type: ignore[attr-defined]
    with np.printoptions(threshold=40, edgeitems=3):
        return f"{view.name} + {np.array2string(offsets, separator=', ')}"


def _runs(marked: Any) -> str:
    where = np.flatnonzero(marked)
    if where.size and where[-1] - where[0] + 1 == where.size:
        return f": elements {where[0]}..{where[-1]}" if where.size > 1 else f": element {where[0]}"
    return ""


class tuple:
    """A tuple of values, indexable by constexprs, with the fields of a named tuple."""

    __blockstep_value__ = True

    def __init__(self, args: Any, type: tuple_type | None = None) -> None:
        self.values = list(args)
        self._type = type

    @property
    def type(self) -> tuple_type:
        if self._type is None:
            self._type = tuple_type(
                [getattr(v, "type", None) or _constant_type(v) for v in self.values]
            )
        return self._type

    def __getitem__(self, index: Any) -> Any:
        index = unwrap(index)
        if isinstance(index, tensor):
            raise TypeError("a tuple is indexed by a constexpr, not by a run-time value")
        if isinstance(index, (builtins.slice, slice)):
            return tuple(self.values[builtins.slice(*_slice_parts(index))])
        return self.values[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[unwrap(index)] = value

    def __getattr__(self, name: str) -> Any:
        fields = None if name.startswith("_") else self.type.fields
        if fields and name in fields:
            return self.values[fields.index(name)]
        raise AttributeError(f"this tuple has no field {name!r}")

    def __iter__(self) -> Any:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: Any) -> tuple:
        return tuple([*self.values, *other])

    def __radd__(self, other: Any) -> tuple:
        return tuple([*other, *self.values])

    def __mul__(self, count: Any) -> tuple:
        return tuple(self.values * unwrap(count))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (tuple, builtins.tuple, list)):
            return NotImplemented
        return len(self.values) == len(other) and all(
            bool(a == b) for a, b in zip(self.values, other, strict=True)
        )

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return "(" + ", ".join(map(repr, self.values)) + ("," if len(self) == 1 else "") + ")"


def _constant_type(value: Any) -> Any:
    from blockstep.language.types import constexpr_type

    return constexpr_type(value)


class slice:
    """A slice with constexpr ends (`tl.slice`)."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step


def _slice_parts(index: Any) -> Any:
    return unwrap(index.start), unwrap(index.stop), unwrap(index.step)
