"""A whole kernel as LLVM text, with what a launch must know about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from blockstep.compiler.faults import FAULTS, SCRATCH
from blockstep.compiler.lower import control
from blockstep.compiler.lower.core import SHARED, Lowering, Unlowered
from blockstep.compiler.lower.tensor_map import BYTES, Map, made_here
from blockstep.compiler.lower.text import Item, scalar_type
from blockstep.compiler.options import Options
from blockstep.errors import UnsupportedError
from blockstep.ir import Function, Value

WARP = 32
_KEEPS_DENORMALS = (
    "!llvm.module.flags = !{!1000000}", '!1000000 = !{i32 4, !"nvvm-reflect-ftz", i32 0}',
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a launch passes: `kind` is `pointer`, `i8` … `i64`, `f32`, `f64`, or `i16` bits of a
    16-bit float."""

    name: str
    kind: str
    box: Map | None = None  # what a tensor map (`tensor_map`) describes


@dataclass(frozen=True, slots=True)
class Module:
    """LLVM text; the name of the kernel in it; parameters; bytes of dynamic shared memory, and of
    scratch memory for each CTA."""

    text: str
    name: str
    parameters: tuple[Parameter, ...]
    shared: int
    scratch: int
    sites: tuple[tuple[str, Any], ...]


def lower(function: Function, options: Options) -> Module:
    """Placed IR to LLVM text. Raises UnsupportedError for what has no lowering."""
    lw = Lowering(function, options)
    try:
        declared, parameters = _head(lw)
        control.region(lw, function.body)
        lw.b.effect("ret void")
    except Unlowered as unlowered:
        raise _unsupported(unlowered) from unlowered
    for operation in function.walk():
        if operation.name in ("for", "while"):
            inside = [lw.positions[inner] for inner in operation.walk()]
            lw.plan.loops.append((inside[0] + 1, inside[-1]))
    for map_ in lw.maps.values():
        attributes = 'byval([128 x i8]) align 64 "nvvm.grid_constant"'
        declared.append(f"ptr {attributes} {map_.parameter}")
        parameters.append(Parameter(map_.descriptor, "tensor_map", map_))
    if lw.faults:
        declared.append("ptr addrspace(1) %faults")
        parameters.append(Parameter(FAULTS, "pointer"))
    shared = lw.plan.place()
    lw.b.drop_unused_joins()
    text = _text(lw, declared)
    return Module(
        text, symbol(function.name), tuple(parameters), shared, _scratch(function), tuple(lw.sites)
    )


def _scratch(function: Function) -> int:
    """Bytes for each CTA: a place for each map that it makes."""
    return BYTES * sum(map(made_here, function.walk()))


def symbol(name: str) -> str:
    """A kernel's name as PTX can write it."""
    return re.sub(r"[^A-Za-z0-9_$]", "_", name)


def _unsupported(unlowered: Unlowered) -> UnsupportedError:
    operation = unlowered.operation
    if operation is None or operation.location is None:
        return UnsupportedError(f"unsupported: the compiler cannot lower {unlowered}")
    span = operation.location.span
    where = f" ({span.file}:{span.line})"
    return UnsupportedError(f"unsupported: the compiler cannot lower {unlowered}{where}", span=span)


def _head(lw: Lowering) -> tuple[list[str], list[Parameter]]:
    declared, parameters = [], []
    for number, value in enumerate(lw.function.parameters):
        kind, llvm = _parameter(value)
        declared.append(f"{llvm} %p{number}")
        parameters.append(Parameter(_passed_as(value.name), kind))
        lw.bind(value, _argument(lw, value, kind, f"%p{number}"))
    scratch = _scratch(lw.function)
    if scratch:
        declared.append("ptr addrspace(1) %scratch")
        parameters.append(Parameter(SCRATCH, "pointer"))
        lw.slots = _own(lw, scratch)
    if any(operation.name == "assert" for operation in lw.function.walk()):
        lw.faults = lw.b.value("ptrtoint ptr addrspace(1) %faults to i64")
    lw.tid = lw.b.call("i32", "llvm.nvvm.read.ptx.sreg.tid.x", [])
    lw.lane = lw.b.value(f"and i32 {lw.tid}, 31")
    lw.warp = lw.b.value(f"lshr i32 {lw.tid}, 5")
    if any(operation.name == "dot" for operation in lw.function.walk()):
        uniform = lw.b.call(
            "i32", "llvm.nvvm.shfl.sync.idx.i32", ["i32 -1", f"i32 {lw.warp}", "i32 0", "i32 31"],
            "#1",
        )  # fmt: skip
        lw.group = lw.b.value(f"lshr i32 {uniform}, 2")
    return declared, parameters


def _own(lw: Lowering, size: int) -> str:
    """The address of this CTA's part of the scratch memory: an i64."""

    def special(name: str) -> str:
        found = lw.b.call("i32", f"llvm.nvvm.read.ptx.sreg.{name}", [])
        return lw.b.value(f"zext i32 {found} to i64")

    number = special("ctaid.z")
    for axis in "yx":
        number = lw.b.value(f"mul i64 {number}, {special(f'nctaid.{axis}')}")
        number = lw.b.value(f"add i64 {number}, {special(f'ctaid.{axis}')}")
    start = lw.b.value("ptrtoint ptr addrspace(1) %scratch to i64")
    return lw.b.value(f"add i64 {start}, {lw.b.value(f'mul i64 {number}, {size}')}")


def _passed_as(name: str) -> str:
    """A part of a descriptor, as launches name it: `x.shape0` is `x.shape[0]`."""
    name = re.sub(r"\.shape(\d+)$", r".shape[\1]", name)
    return re.sub(r"\.stride(\d+)$", r".strides[\1]", name)


def _parameter(value: Value) -> tuple[str, str]:
    kind = value.type
    if kind.is_ptr():
        return "pointer", "ptr addrspace(1)"
    if kind.is_int1():
        return "i8", "i8"
    if kind.is_floating() and kind.primitive_bitwidth < 32:
        return f"i{kind.primitive_bitwidth}", f"i{kind.primitive_bitwidth}"
    if kind.is_floating():
        return f"f{kind.primitive_bitwidth}", scalar_type(kind)
    return f"i{kind.primitive_bitwidth}", scalar_type(kind)


def _argument(lw: Lowering, value: Value, kind: str, name: str) -> Item:
    own = value.type
    if kind == "pointer":
        name = lw.b.value(f"ptrtoint ptr addrspace(1) {name} to i64")
    elif own.is_int1():
        name = lw.b.value(f"icmp ne i8 {name}, 0")
    elif own.is_floating() and kind == "i16":
        name = lw.b.value(f"bitcast i16 {name} to {scalar_type(own)}")
    return Item(name, own.scalar)


def _text(lw: Lowering, declared: list[str]) -> str:
    kernel = {"nvvm.reqntid": lw.options.num_warps * WARP}
    if lw.options.maxnreg:
        kernel["nvvm.maxnreg"] = lw.options.maxnreg
    told = " ".join(f'"{name}"="{value}"' for name, value in kernel.items())
    scope = f" !dbg {lw.places.kernel}" if lw.places is not None else ""
    lines = [
        'target triple = "nvptx64-nvidia-cuda"',
        f"{SHARED} = external addrspace(3) global [0 x i8], align 1024",
        *[f"{name} = {definition}" for definition, name in lw.b.types.items()],
        *lw.b.declared.values(),
        *lw.strings.values(),
        f"define ptx_kernel void @{symbol(lw.function.name)}({', '.join(declared)}) #0{scope} {{",
        "entry:",
        *[f"  {b.name} = add i32 {b.offset}, 0" for b in lw.plan.buffers],
        *[f"  {name} = alloca [{n} x i8], align 8" for name, n in lw.locals.items()],
        *lw.b.lines,
        "}",
        f"attributes #0 = {{ {told} }}",
        "attributes #1 = { convergent nounwind }",
        *([lw.places.text()] if lw.places is not None else []),
        *(() if lw.options.flush else _KEEPS_DENORMALS),
    ]
    return "\n".join(lines) + "\n"
