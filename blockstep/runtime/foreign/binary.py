"""From Triton's answer to a `Binary`: the parameters in the order that Triton's launcher passes them.

A tuple is flattened. A host descriptor is a tensor map, its lengths and its strides; where Triton
copies without the copy engine it is the address, lengths, strides, whether it pads with NaN and (from
3.7 on) rounds to tf32, and then lengths and strides once more. Last are two pointers: scratch memory, and that of a profiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from blockstep.errors import UnsupportedError
from blockstep.runtime.arguments import Argument, Bound
from blockstep.runtime.gpu.binary import NULL, SCRATCH, Binary, Box, Kind, Param

_KINDS: dict[str, Kind] = {
    "i1": "i1", "u1": "i1", "i8": "i8", "u8": "i8", "i16": "i16", "u16": "i16", "i32": "i32",
    "u32": "i32", "i64": "i64", "u64": "i64", "fp16": "f16", "bf16": "bf16", "fp32": "f32",
    "f32": "f32", "fp64": "f64",
}  # fmt: skip
_SWIZZLES = (0, 32, 64, 128)  # by the number that Triton gives


def binary_of(answer: Mapping[str, Any], bound: Bound) -> Binary:
    """The code of one kernel. Raises UnsupportedError for what the ptx machine cannot be given."""
    told = answer["metadata"]
    maps = iter(told.get("tensordesc_meta") or ())
    rounds = bool(answer.get("rounds"))
    parameters = [
        p
        for argument, kind in zip(bound.arguments, answer["signature"], strict=True)
        for p in _parameters(argument, kind, maps, rounds)
    ]
    if told.get("profile_scratch_size"):
        raise UnsupportedError(f"{told['name']} is instrumented for a profiler")
    parameters += [Param("pointer", SCRATCH), Param("pointer", NULL)]
    name = str(told["name"])
    _check_count(str(answer["ptx"]), name, len(parameters))
    ctas = int(told.get("num_ctas") or 1)
    return Binary(
        image=answer["ptx"], name=name, shared=int(told["shared"]),
        num_warps=int(told["num_warps"]), num_ctas=ctas, parameters=tuple(parameters),
        launch_pdl=bool(told.get("launch_pdl")),
        launch_cooperative_grid=bool(told.get("launch_cooperative_grid")),
        asm={"ptx": answer["ptx"]}, scratch=int(told.get("global_scratch_size") or 0),
    )  # fmt: skip


def _parameters(
    argument: Argument, kind: Any, maps: Iterator[Any], rounds: bool
) -> Iterator[Param]:
    if isinstance(kind, list | tuple):
        for item, inner in zip(argument.items, kind, strict=True):
            yield from _parameters(item, inner, maps, rounds)
    elif kind == "constexpr":
        return
    elif kind.startswith("*"):
        yield Param("pointer", argument.name)
    elif kind.startswith("tensordesc"):
        yield from _descriptor(argument, next(maps, None), rounds)
    elif kind in _KINDS:
        yield Param(_KINDS[kind], argument.name)
    else:
        raise UnsupportedError(f"Triton passes `{argument.name}` as {kind}")


def _descriptor(argument: Argument, told: Any, rounds: bool) -> Iterator[Param]:
    if getattr(argument.value, "round_f32_to_tf32", False):
        raise UnsupportedError(f"`{argument.name}` is a descriptor that rounds to tf32")
    name, rank = argument.name, len(argument.value.shape)
    lengths = [f"{name}.shape[{axis}]" for axis in range(rank)]
    strides = [f"{name}.strides[{axis}]" for axis in range(rank)]
    if told is None:
        yield Param("pointer", name)
        yield from (Param("i64", part) for part in (*lengths, *strides))
        yield Param("i1", f"{name}.padding")
        yield from [Param("i1", f"{name}.rounds")] * rounds
    else:
        yield Param("tensor_map", name, _box(argument, told, lengths, strides))
    yield from (Param("i32", part) for part in lengths)
    yield from (Param("i64", part) for part in strides)


def _box(argument: Argument, told: Any, lengths: list[str], strides: list[str]) -> Box:
    if told.get("fp4_padded"):
        raise UnsupportedError(f"`{argument.name}` is a descriptor of padded 4-bit floats")
    assert argument.view is not None
    swizzle = _SWIZZLES[int(told["swizzle"])]
    block = tuple([int(n) for n in told["block_size"]])
    padding = argument.value.padding
    element = argument.view.dtype.name
    return Box(argument.name, element, tuple(lengths), tuple(strides), block, swizzle, padding)


def _check_count(ptx: str, name: str, count: int) -> None:
    """Another version of Triton may have other hidden parameters."""
    entry = re.search(rf"\.entry\s+{re.escape(name)}\s*\(([^)]*)\)", ptx)
    found = entry[1].count(".param") if entry is not None else -1
    if found != count:
        raise UnsupportedError(
            f"{name} has {found} parameters where Triton's launcher is known to pass {count}: "
            "this version of Triton is not known here"
        )
