"""A launch of the language, compiled by our compiler and run by the ptx machine.

`outcomes()`: every launch inside also runs so, on copies of its arguments, and is compared with what
the launch itself leaves in memory.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.compiler.compile import compile_function
from blockstep.compiler.faults import FAULTS
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.lower import Options
from blockstep.interp.ptx import machine as ptx
from blockstep.language.function import current_launcher, launching
from blockstep.runtime.arguments import bind
from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.gpu.binary import Binary, Param
from blockstep.runtime.gpu.building import box_of
from blockstep.runtime.gpu.compiling import hints_of, param_of
from blockstep.runtime.gpu.launcher import packable
from blockstep.runtime.gpu.tensor_map import TYPES, Tiled
from blockstep.runtime.gpu.values import gathering, values_of
from blockstep.runtime.launch import grid_size
from blockstep.runtime.launch_options import OPTIONS, split_options
from tests.agreement.agree import copies
from tests.ops.kernels import bits, distance

SCRATCH_ALIGNMENT = 128
_INTEGERS = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "pointer": 8}
_KINDS = {
    "int32": "s32", "uint32": "u32", "int64": "s64", "uint64": "u64", "fp16": "f16",
    "bf16": "bf16", "fp32": "f32",
}  # fmt: skip
_PATTERNS = {2: b"\x00\x7e", 4: b"\x00\x00\xc0\x7f", 8: b"\x00\x00\x00\x00\x00\x00\xf8\x7f"}


def tensor_map(array: Any) -> Any:
    """What makes a tensor map of the machine's, as `gathering` wants it."""

    def make(told: Tiled, kernel: str) -> ptx.TensorMap:
        size = TYPES[told.element][1]
        fill = _PATTERNS[size] if told.padding == "nan" else None
        if told.element == "bf16" and fill is not None:
            fill = b"\xc0\x7f"
        return ptx.TensorMap(
            array(told.address), told.address, size, told.shape[::-1],
            tuple([s * size for s in told.strides[-2::-1]]), told.box[::-1], told.swizzle, fill,
            _KINDS.get(told.element, ""),
        )  # fmt: skip

    return make


def packed(parameter: Param, value: Any) -> Any:
    """An argument of `run_ptx`."""
    if parameter.kind == "tensor_map":
        return value
    if parameter.kind in _INTEGERS:
        size = _INTEGERS[parameter.kind]
        return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if parameter.kind in ("f16", "bf16"):
        return int(packable(parameter, value)).to_bytes(2, "little")
    return (np.float32 if parameter.kind == "f32" else np.float64)(value).tobytes()


@dataclass(slots=True)
class Compiled:
    """A kernel with the arguments that it was compiled for, ready to run."""

    binary: Binary
    text: str
    arguments: list[Any]
    scratch: list[Any]
    grid: tuple[int, int, int]
    space: Any
    faults: Any

    def run(self, **options: Any) -> ptx.Report:
        """Runs it on the arguments' own memory."""
        binary = self.binary
        x, y, z = self.grid
        return ptx.run_ptx(
            self.text, binary.name, (x * binary.num_ctas, y, z), (binary.threads,), self.arguments,
            shared=binary.shared, cluster=binary.cluster_shape, space=self.space, **options,
        )  # fmt: skip


def compiled(
    function: Any, args: Any, kwargs: Any, grid: Any, target: str = "sm_90a", exact: bool = True
) -> Compiled:
    """The kernel, compiled for these arguments."""
    options, named = split_options(kwargs, function)
    bound = bind(
        function.params, args, named, kernel=function.__name__, passed_at=None, options=OPTIONS
    )
    warps = int(options.get("num_warps") or 4)
    chosen = Options(
        target=target, num_warps=warps, num_stages=int(options.get("num_stages") or 3),
        num_ctas=int(options.get("num_ctas") or 1), exact=exact,
        debug=bool(kwargs.get("debug", function.debug)),
    )  # fmt: skip
    made = build_bound(function, bound.arguments, warps)
    found = compile_function(made, chosen, hints_of(bound))
    module = found.module
    parameters = tuple([param_of(p.kind, p.name, box_of(p)) for p in module.parameters])
    binary = Binary(
        found.ptx, module.name, module.shared, warps, chosen.num_ctas, parameters,
        scratch=module.scratch,
    )  # fmt: skip
    space = bound.space

    def array_at(address: int) -> Any:
        storage = space.find(address)
        assert storage is not None
        return storage.data

    arrays: list[Any] = []

    def scratch(x: int, y: int, z: int, stream: int) -> int:
        size = binary.scratch * x * y * z * binary.num_ctas
        memory = np.full(size + SCRATCH_ALIGNMENT, 0xFF, np.uint8)
        start = -memory.ctypes.data % SCRATCH_ALIGNMENT
        arrays.append(memory)
        space.add_array(memory, "scratch")
        return int(memory.ctypes.data) + start

    gather = gathering(binary, bound, tensor_map(array_at), scratch)
    size = grid_size(grid, bound)
    values = gather(values_of(bound, lambda view: view.base), size, 0)
    faults = np.zeros(16, np.int32)
    visible = [p for p in parameters if p.name != FAULTS]
    arguments = [packed(p, v) for p, v in zip(visible, values, strict=True)]
    if len(visible) < len(parameters):
        arguments.append(faults)
    return Compiled(binary, found.ptx, arguments, arrays, size, space, faults)


@dataclass(slots=True)
class Outcome:
    """What the ptx machine made of a launch: `error` is empty where it ran and agreed."""

    kernel: str
    error: str
    faults: tuple[Any, ...] = ()
    text: str = ""


@contextmanager
def outcomes(into: list[Outcome] | None = None, **options: Any) -> Iterator[list[Outcome]]:
    """Launches inside also run as PTX; the list takes what became of them."""
    found: list[Outcome] = [] if into is None else into
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        if warmup:
            return before(function, args, kwargs, grid=grid, warmup=warmup)
        given = copies([*args, *kwargs.values()])
        named = dict(zip(kwargs, given[len(args) :], strict=True))
        one = _run(function, tuple(given[: len(args)]), named, grid, options)
        result = before(function, args, kwargs, grid=grid, warmup=warmup)
        if not one.error:
            one.error = difference([*args, *kwargs.values()], given)
        found.append(one)
        return result

    with launching(launch):
        yield found


def _run(function: Any, args: Any, kwargs: Any, grid: Any, options: Any) -> Outcome:
    text = ""
    try:
        made = compiled(function, args, kwargs, grid, **options)
        text = made.text
        with contextlib.redirect_stdout(io.StringIO()):
            report = made.run()
    except Exception as error:  # noqa: BLE001  (a test says which errors it allows)
        notes = "; ".join(getattr(error, "__notes__", ()))
        return Outcome(function.__name__, f"{type(error).__name__}: {error} {notes}", (), text)
    return Outcome(function.__name__, "", tuple(report.faults), text)


def arrays_of(arguments: list[Any]) -> list[Any]:
    """The arrays among arguments, in order."""
    found: list[Any] = []
    for one in arguments:
        base = one.base if isinstance(one, TensorDescriptor) else one
        if isinstance(base, np.ndarray):
            found.append(base)
        elif isinstance(base, tuple):
            found += arrays_of(list(base))
    return found


def difference(expected: list[Any], found: list[Any]) -> str:
    """Where two lists of arguments differ in bits; empty where they do not."""
    for n, (a, b) in enumerate(zip(arrays_of(expected), arrays_of(found), strict=True)):
        differs = bits(a) != bits(b)
        if differs.any():
            where = tuple(np.argwhere(differs)[0].tolist())
            return (
                f"argument {n} {a.dtype}{list(a.shape)} at {where}: {a[where]!r} and {b[where]!r}; "
                f"{int(differs.sum())} of {differs.size}; ulps {distance(a[differs], b[differs])}"
            )
    return ""
