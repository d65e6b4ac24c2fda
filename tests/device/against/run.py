"""Runs the cases under whichever implementation `import triton` finds, and saves what they left.

    python -m tests.device.against.run OUT.npz --seed 7 --part 0/4 [--only text]
    python -m blockstep run tests/device/against/run.py OUT.npz …

The file holds, for each case, the compared buffers as bytes, or the first line of the error with
which it did not compile. Inputs come from the seed and the case's name alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np

import triton
from tests.device.against import (
    cases_blocks,
    cases_elementwise,
    cases_functions,
    cases_products,
    cases_programs,
)
from tests.device.against.case import STORED, Array, Buffer, Case
from tests.device.against.compare import load

POISON = {"triton": 0xA5, "blockstep": 0x5A}
SOURCES = (
    cases_elementwise.pairs, cases_elementwise.literals, cases_elementwise.conversions,
    cases_elementwise.unary, cases_elementwise.exact_functions, cases_blocks.reductions,
    cases_blocks.with_places, cases_blocks.combined, cases_blocks.moved,
    cases_functions.mathematics, cases_functions.library, cases_functions.generators,
    cases_functions.assembly, cases_programs.memory, cases_programs.control,
    cases_programs.boxes, cases_programs.descriptors, cases_programs.atomics,
    cases_products.exact, cases_products.rounded, cases_products.random, cases_products.scaled,
)  # fmt: skip
ENGINE = "blockstep" if hasattr(triton, "check") else "triton"


def cases(only: str = "", part: tuple[int, int] = (0, 1)) -> Iterator[Case]:
    """All cases, or those whose key contains a text, or every so many of them."""
    every = (case for source in SOURCES for case in source())
    wanted = [case for case in every if only in case.key]
    yield from wanted[part[0] :: part[1]]


def fills(case: Case, seed: int) -> list[Array]:
    """What the buffers hold before the launch; outputs are poisoned."""
    random = np.random.default_rng([seed, zlib.crc32(case.key.encode())])
    found = []
    for buffer in case.buffers:
        if buffer.make is None:
            found.append(_poisoned(buffer))
        else:
            filled = np.asarray(buffer.make(random)).astype(STORED[buffer.kind])
            found.append(np.ascontiguousarray(filled).reshape(buffer.shape))
    return found


def _poisoned(buffer: Buffer) -> Array:
    stored = STORED[buffer.kind]
    size = int(np.prod(buffer.shape)) * stored.itemsize
    byte = POISON[ENGINE] if buffer.kind != "i1" else int(ENGINE == "triton")
    return np.full(size, byte, np.uint8).view(stored).reshape(buffer.shape)


def _sent(array: Array, kind: str) -> Any:
    """The array as this implementation takes it."""
    if ENGINE == "blockstep":
        return array
    import torch

    names = {"fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "bf16": "bfloat16", "i1": "bool"}
    name = names.get(kind, STORED[kind].name)
    raw = torch.from_numpy(array.reshape(-1).view(np.uint8).copy())
    return raw.view(getattr(torch, name)).reshape(array.shape).cuda()


def _fetched(value: Any) -> bytes:
    if ENGINE == "blockstep":
        return bytes(value.tobytes())
    import torch

    return bytes(value.reshape(-1).view(torch.uint8).cpu().numpy().tobytes())


def launch(case: Case, seed: int) -> list[bytes]:
    """One launch on fresh inputs."""
    arrays = [_sent(a, b.kind) for a, b in zip(fills(case, seed), case.buffers, strict=True)]
    passed = case.wrap(list(arrays)) if case.wrap else arrays
    case.kernel[case.grid](*passed, *case.scalars, **case.constants)
    pairs = zip(arrays, case.buffers, strict=True)
    return [_fetched(array) for array, buffer in pairs if buffer.compared]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--after", type=int, default=0, help="how many cases are done")
    told = parser.parse_args(words)
    index, count = map(int, told.part.split("/"))
    target = Path(told.out)
    found = load([target]) if told.after else {}
    started, done = time.perf_counter(), told.after
    if ENGINE == "triton":
        _allocate()
    for case in list(cases(told.only, (index, count)))[told.after :]:
        done += 1
        try:
            kept = launch(case, told.seed)
        except Exception as error:  # noqa: BLE001 (what does not compile is a result)
            found[f"!{case.key}"] = _words(error)
            if (
                "CUDA error" in str(error) or type(error).__name__ == "KernelFault"
            ):  # no launch of this process can succeed any more
                save(target, found)
                _go_on(told, done)
            continue
        found |= {f"{number}!{case.key}": held for number, held in enumerate(kept)}
    save(target, found)
    print(f"{len(found)} results in {time.perf_counter() - started:.1f} s", told.part)
    return 0


def _go_on(told: argparse.Namespace, done: int) -> None:
    """Replaces this process by one that starts after `done` cases."""
    words = [told.out, "--seed", str(told.seed), "--part", told.part, "--only", told.only]
    os.execv(sys.executable, [sys.executable, __file__, *words, "--after", str(done)])


def save(path: Path, held: dict[str, bytes]) -> None:
    """Many small arrays as one file: names, where each ends, and all bytes."""
    found = {name: np.frombuffer(value, np.uint8) for name, value in held.items()}
    ends = np.cumsum([len(v) for v in found.values()])
    data = np.concatenate(list(found.values())) if found else np.zeros(0, np.uint8)
    np.savez_compressed(path, names=np.array(list(found)), ends=ends, data=data)


def _words(error: BaseException) -> bytes:
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    said = lines[0] if "CUDA error" in lines[0] else lines[-1]
    return f"{type(error).__name__}: {said}"[:300].encode()


def _allocate() -> None:
    """Descriptors that a kernel makes lie in memory of the device."""
    import torch

    triton.set_allocator(lambda size, _, __: torch.empty(size, dtype=torch.int8, device="cuda"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
