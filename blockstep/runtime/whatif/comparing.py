"""One kernel in several formats: what each of them makes of the same launch.

Where a kernel takes a format as a compile-time value, that is what is switched; else its float
arrays are converted. All are held to the launch as it was given, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.errors import TritonError
from blockstep.interp.owners import is_torch_tensor, torch_module
from blockstep.ir import Function
from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.ladder.machines import error_text
from blockstep.runtime.whatif.measuring import Error, error_of
from blockstep.runtime.whatif.running import Repeated, Values
from blockstep.runtime.whatif.widening import NotWidened

TF32 = "tf32"
NAMES = ("fp8e4nv", "fp8e5", "bf16", "fp16", TF32, "fp32")


@dataclass(frozen=True, slots=True)
class Row:
    """One format: the error of each output, in units of that format, or why there is none."""

    format: str
    errors: dict[str, Error] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A launch in several formats. `switched` names the compile-time values, or the arrays."""

    kernel: str
    grid: tuple[int, int, int]
    switched: tuple[str, ...]
    constants: bool
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        from blockstep.diagnostics.formats import table_text

        return table_text(self)

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        from blockstep.diagnostics.formats import table_json

        return table_json(self)

    def svg(self) -> str:
        """The errors as a picture that stands alone."""
        from blockstep.diagnostics.formats import svg

        return svg(self)


def compare_launch(launch: Launch, names: Sequence[str] = NAMES) -> Table:
    """Runs a launch in each format. Raises NotWidened where it cannot be run in float64 and where
    nothing can be switched, ValueError for a name that is no format."""
    formats = [format_named(n) for n in names]
    given = _by_name(launch)
    constants = tuple(n for n, v in given.items() if _is_format(v))
    arrays = tuple(n for n, v in given.items() if _is_float_array(v))
    switched = constants or arrays
    if not switched:
        raise NotWidened(f"`{launch.kernel}` takes neither a float format nor a float array")
    right = Repeated(launch).in_double()
    rows = [
        _row(launch, name, kind, switched, right) for name, kind in zip(names, formats, strict=True)
    ]
    return Table(launch.kernel, launch.grid, switched, bool(constants), tuple(rows))


def format_named(name: str) -> ty.dtype:
    """A float format by its name, short or long. Raises ValueError."""
    if name == TF32:
        return ty.float32
    for kind in _FLOATS:
        if name in (kind.name, kind.codegen_name()):
            return kind
    raise ValueError(f"{name!r} is no float format; there are {', '.join(NAMES)}, fp64")


_FLOATS = (ty.float8e4nv, ty.float8e5, ty.bfloat16, ty.float16, ty.float32, ty.float64)


def _by_name(launch: Launch) -> dict[str, Any]:
    names = launch.function.arg_names
    return {**dict(zip(names, launch.args, strict=False)), **{
        n: v for n, v in launch.kwargs.items() if n in names
    }}  # fmt: skip


def _is_format(value: Any) -> bool:
    return isinstance(value, ty.dtype) and not value.is_ptr() and value.is_floating()


def _is_float_array(value: Any) -> bool:
    if is_torch_tensor(value):
        return bool(value.dtype.is_floating_point)
    if not isinstance(value, np.ndarray):
        return False
    try:
        return numerics.format_of_storage(value.dtype).kind == "float"
    except KeyError:
        return False


def _row(
    launch: Launch, name: str, kind: ty.dtype, switched: tuple[str, ...], right: Values
) -> Row:
    try:
        repeated = Repeated(_switched(launch, kind, switched))
        reads = _dots(repeated.function)
        if name == TF32 and not reads:
            return Row(name, why="no product of matrices reads float32 here")
        repeated.function = _reading(repeated.function, "tf32" if name == TF32 else "ieee")
        found = repeated.as_written()
    except (NotWidened, TritonError) as error:
        text = str(error) if isinstance(error, NotWidened) else error_text(error)
        return Row(name, why=text)
    shared = [n for n in found if n in right and found[n].shape == right[n].shape]
    return Row(name, {n: error_of(found[n], right[n], kind) for n in shared})


def _dots(function: Function) -> list[Any]:
    dots = [o for o in function.walk() if o.name == "dot"]
    return [o for o in dots if o.operands[0].type.scalar is ty.float32]


def _reading(function: Function, precision: str) -> Function:
    """The function with its products of float32 matrices in another precision."""
    if not _dots(function):
        return function
    made = function.clone()
    for dot in _dots(made):
        dot.attributes["precision"] = precision
    return made


def _switched(launch: Launch, kind: ty.dtype, names: tuple[str, ...]) -> Launch:
    """The launch with compile-time formats, or float arrays, of another format."""
    function = launch.function

    def new(name: str, value: Any) -> Any:
        if name not in names:
            return value
        return kind if _is_format(value) else _converted(value, kind)

    args = tuple(new(n, v) for n, v in zip(function.arg_names, launch.args, strict=False))
    args += launch.args[len(args) :]
    kwargs = {n: new(n, v) for n, v in launch.kwargs.items()}
    return take(function, args, kwargs, launch.grid, launch.host)


def _converted(array: Any, kind: ty.dtype) -> Any:
    """A copy of an array in another format."""
    if is_torch_tensor(array):
        torch = torch_module()
        assert torch is not None
        return array.to(getattr(torch, _TORCH[kind.name]))
    source = numerics.format_of_storage(array.dtype).name
    with np.errstate(all="ignore"):
        convert = numerics.converter(source, kind.codegen_name(), None)
        return np.asarray(convert(np.ascontiguousarray(array)))


_TORCH = {
    "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "bf16": "bfloat16", "fp16": "float16",
    "fp32": "float32", "fp64": "float64",
}  # fmt: skip

__all__ = ["NAMES", "Row", "Table", "compare_launch", "format_named"]
