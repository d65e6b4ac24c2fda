"""The CTA in NumPy, with the atomics of global memory: PTX's own operations on its own types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from blockstep.compiler.lower import Module
from tests.compiler.simt import Cta, _split
from tests.compiler.watched import Wrong

Array = npt.NDArray[Any]

_TYPES: dict[str, Any] = {
    **{f"{letter}{8 * n}": np.dtype(f"{kind}{n}") for n in (2, 4, 8)
       for letter, kind in (("b", "u"), ("u", "u"), ("s", "i"))},
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, new: old + new, "max": max, "min": min, "exch": lambda old, new: new,
    "and": lambda old, new: old & new, "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
}  # fmt: skip
_SEM, _SCOPE = "(?:relaxed|acquire|release|acq_rel)", "(?:cta|gpu|sys)"
_ORDERED = re.compile(
    rf"(red|ld|st|atom)\.{_SEM}\.{_SCOPE}\.global"
    rf"|(atom)\.global\.(?:{_SCOPE}\.{_SEM}|{_SEM}\.{_SCOPE})"
)


class AtomicCta(Cta):
    """A program instance among others. `acted` counts the lanes that acted on each address."""

    def __init__(self, *told: Any, program: int = 0) -> None:
        super().__init__(*told)
        self.program = program
        self.acted: dict[int, int] = {}

    def _call(self, rest: str) -> Any:
        if "sreg.ctaid" in rest:
            at = self.program if rest.split("(")[0].endswith("x") else 0
            return np.full(self.threads, at, np.uint32)
        return super()._call(rest)

    def _statement(self, text: str, places: dict[int, Array]) -> None:
        if text.startswith("fence."):
            return
        plain = re.sub(r"^@\S+ ", "", text)
        ordered = _ORDERED.match(plain)
        if ordered is None:
            return super()._statement(text, places)
        on = self.active
        if plain != text:
            on = on & places[int(text[2 : text.index(" ")])]
        suffix = plain[ordered.end() + 1 : plain.index(" ")]
        operands = _split(plain[plain.index(" ") + 1 :])
        parts = [[int(n) for n in re.findall(r"\$(\d+)", part)] for part in operands]
        does = ordered[1] or ordered[2]
        if does == "ld":
            return self._read(f"ld.{suffix}", on, parts[0], places[parts[1][0]], places)
        if does == "st":
            words = [places[i] for i in parts[1]]
            return self._write(f"st.{suffix}", on, places[parts[0][0]], words)
        return self._act(suffix, on, parts, places, does == "atom")

    def _act(
        self, suffix: str, on: Array, parts: list[list[int]], places: dict[int, Array], old: bool
    ) -> None:
        name, *rest, kind = suffix.split(".")
        targets, address, *inputs = parts if old else [[], *parts]
        packed = kind.endswith("x2")
        dtype = _TYPES[kind.removesuffix("x2")]
        for lane in np.flatnonzero(on):
            for number, place in enumerate(inputs[0]):
                word = places[place][lane : lane + 1].copy()
                values = word.view(np.uint8)[: (2 if packed else 1) * dtype.itemsize].view(dtype)
                start = int(places[address[0]][lane]) + number * values.nbytes
                cells = self.memory[start : start + values.nbytes].view(dtype)
                if targets:
                    held = places[targets[number]].copy()
                    raw = held[lane : lane + 1].view(np.uint8)
                    raw[: values.nbytes] = cells.view(np.uint8)
                    places[targets[number]] = held
                for k, value in enumerate(values):
                    at = start + k * dtype.itemsize
                    self.acted[at] = self.acted.get(at, 0) + 1
                    if name == "cas":
                        swap = places[inputs[1][0]][lane : lane + 1].view(np.uint8)
                        if cells[k] == value:
                            cells[k] = swap[: dtype.itemsize].view(dtype)[0]
                    elif name in _OPERATIONS:
                        cells[k] = _OPERATIONS[name](cells[k], value)
                    else:
                        raise Wrong(f"no atomic {suffix}")


def run(module: Module, arrays: list[Array], num_warps: int, programs: int = 1) -> dict[int, int]:
    """Runs program instances one after the other on `arrays`, which they write; how many lanes acted
    on each address (arrays begin at 256, each at a multiple of 256)."""
    places, size = [], 256
    for array in arrays:
        places.append(size)
        size += -(-array.nbytes // 256) * 256
    memory = np.zeros(size, np.uint8)
    for array, place in zip(arrays, places, strict=True):
        memory[place : place + array.nbytes] = array.reshape(-1).view(np.uint8)
    acted: dict[int, int] = {}
    for program in range(programs):
        cta = AtomicCta(module.text, 32 * num_warps, module.shared, memory, program=program)
        cta.run(places)
        for at, count in cta.acted.items():
            acted[at] = acted.get(at, 0) + count
    for array, place in zip(arrays, places, strict=True):
        array.reshape(-1).view(np.uint8)[:] = memory[place : place + array.nbytes]
    return acted
