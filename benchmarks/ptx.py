"""The ptx machine: milliseconds a launch, plain and judged, and thread-instructions a second.

    OMP_NUM_THREADS=1 python -m benchmarks.ptx [--repeat 9] [--json FILE] [--rows add,softmax,…]

Each row is a kernel that our compiler makes for sm_90a, run on one core in one process. `decode` is
the reading of its text, which the sides leave out. `plain` looks for no races in shared memory;
everything else (bounds, alignment, unwritten registers) it does too. `host` and `judged host` are the same with
stretches of plain instructions as host code, and `build` is what making that code took once.
The sides take turns, each turn in another order; medians of the processor's time are shown. `M/s` is
million PTX instructions times living threads for each second of `judged`, `host M/s` of `host`;
`target` has the most milliseconds for `judged`. `--save DIR` only writes the texts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import blockstep as triton
import blockstep.language as tl
from benchmarks.grid import add, histogram, matmul, softmax
from blockstep.interp.ptx.decode import decoded, decoded_for_host
from blockstep.interp.ptx.host import stretches
from blockstep.interp.ptx.host.build import built
from tests.ptx.compiled import Compiled, compiled

rng = np.random.default_rng(0)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, S,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    pm, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    base = head * S * D
    rm, rn, rd = pm * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, (pm + 1) * BM, BN):
        k = tl.load(k_ptr + base + (start + rn)[None, :] * D + rd[:, None])
        s = tl.dot(q, k) * scale
        s = tl.where(rm[:, None] >= (start + rn)[None, :], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + base + (start + rn)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m = m_new
    out = (acc / total[:, None]).to(tl.float16)
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], out)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    keep = tl.rand(seed, offs) > p
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=offs < n)


@dataclass
class Row:
    """A kernel with its arguments, whether its result is right, and the target in milliseconds."""

    kernel: Compiled
    right: Callable[[], bool]
    target: float | None


def row_add() -> Row:
    n = 2**20
    x, y, out = rng.random(n, np.float32), rng.random(n, np.float32), np.zeros(n, np.float32)
    made = compiled(add, (x, y, out, n), {"BLOCK": 1024}, (n // 1024,), exact=False)
    return Row(made, lambda: np.array_equal(out, x + y), None)


def row_softmax() -> Row:
    x = rng.standard_normal((1024, 1024)).astype(np.float32)
    out = np.zeros_like(x)
    e = np.exp(x - x.max(1, keepdims=True))
    made = compiled(softmax, (out, x, 1024), {"BLOCK": 1024}, (1024,), exact=False)
    return Row(made, lambda: np.allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5), 30)


def row_dropout() -> Row:
    n = 2**20
    x, out = rng.random(n, np.float32) + 1, np.zeros(n, np.float32)
    made = compiled(dropout, (x, out, n, 0.5, 7), {"BLOCK": 1024}, (n // 1024,), exact=False)
    return Row(made, lambda: abs(np.count_nonzero(out) / n - 0.5) < 0.01, None)


def row_histogram() -> Row:
    n = 2**20
    x, count, place = rng.integers(0, 256, n, np.int32), np.zeros(256, np.int32), np.zeros(n, "i4")
    made = compiled(histogram, (x, count, place, n), {"BLOCK": 1024}, (n // 1024,), exact=False)
    expected = np.bincount(x)
    return Row(made, lambda: not (count % expected).any() and bool(count.all()), None)


def row_matmul(n: int, target: float) -> Row:
    a, b = (rng.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    c = np.zeros((n, n), np.float16)
    wide = a.astype(np.float32) @ b.astype(np.float32)
    sizes = {"BM": 128, "BN": 128, "BK": 64, "GROUP": 8, "num_warps": 4}
    arguments = (a, b, c, n, n, n, n, 1, n, 1, n, 1)
    made = compiled(matmul, arguments, sizes, ((n // 128) ** 2,), exact=False)
    return Row(made, lambda: np.allclose(c, wide, rtol=1e-2, atol=0.1), target)


def row_attention() -> Row:
    heads, size, depth = 8, 1024, 64
    shape = heads, size, depth
    q, k, v = (rng.standard_normal(shape).astype(np.float16) for _ in range(3))
    out = np.zeros_like(q)
    scale = float(np.log2(np.e) / np.sqrt(depth))
    s = q.astype(np.float32) @ k.astype(np.float32).swapaxes(1, 2) / np.sqrt(depth)
    s = np.where(np.tri(size, dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    expected = p / p.sum(-1, keepdims=True) @ v.astype(np.float32)
    sizes = {"D": depth, "BM": 64, "BN": 64}
    made = compiled(attention, (q, k, v, out, scale, size), sizes, (size // 64, heads), exact=False)
    return Row(made, lambda: np.allclose(out, expected, rtol=1e-2, atol=1e-2), 800)


ROWS: dict[str, Callable[[], Row]] = {
    "add f32 2^20": row_add,
    "softmax f32 1024x1024": row_softmax,
    "dropout f32 2^20": row_dropout,
    "histogram 2^20": row_histogram,
    "matmul256 f16": lambda: row_matmul(256, 60),
    "matmul1024 f16": lambda: row_matmul(1024, 1000),
    "attention f16 8x1024x64 causal": row_attention,
}

SIDES: dict[str, dict[str, Any]] = {
    "plain": {"judged": False},
    "judged": {},
    "host": {"judged": False, "compiled": True},
    "judged host": {"compiled": True},
}


def _time(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = run()
    return (time.process_time() - start) * 1e3, found


def _run(row: Row, side: str) -> tuple[float, int]:
    """Milliseconds, and thread-instructions."""
    took, report = _time(lambda: row.kernel.run(**SIDES[side]))
    assert not report.faults, report.faults
    assert row.right(), side
    return took, report.instructions


def measure(make: Callable[[], Row], repeat: int) -> dict[str, Any]:
    """Medians of one row, in milliseconds; the sides take turns."""
    row = make()
    name, text = row.kernel.binary.name, row.kernel.text
    decodes = [_time(lambda: decoded.__wrapped__(text, name)) for _ in range(3)]
    found: dict[str, Any] = {
        "instructions": sum(code.count for code in decodes[0][1].codes),
        "decode": min(took for took, _ in decodes),
    }
    _run(row, "plain")
    built.cache_clear(), decoded_for_host.cache_clear()
    first, found["thread_instructions"] = _run(row, "host")  # makes the code
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(repeat):
        for place in rng.permutation(len(SIDES)):
            side = list(SIDES)[place]
            times[side].append(_run(row, side)[0])
    found |= {side: statistics.median(ms) for side, ms in times.items()}
    found["build"] = first - found["host"]
    found["M/s"] = found["thread_instructions"] / found["judged"] / 1e3
    found["host M/s"] = found["thread_instructions"] / found["host"] / 1e3
    return found | {"target": row.target}


LINES = ("instructions", "decode", *SIDES, "build", "target", "M/s", "host M/s")


def table(rows: dict[str, dict[str, Any]]) -> str:
    """A column for each row of the benchmark, in milliseconds but for the instructions."""
    shown = [("", [name.split()[0] for name in rows])]
    for line in LINES:
        held = [row[line] for row in rows.values()]
        shown.append((line, ["" if x is None else f"{x:.1f}" for x in held]))
    return "\n".join(f"{name:13s}" + "".join(f" {x:>10s}" for x in line) for name, line in shown)


def environment() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),  # of the linear algebra
        "load": round(os.getloadavg()[0], 1),  # when the measurement began
        "blockstep": triton.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--rows", help="part of the names of the rows, separated by commas")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--save", type=Path, metavar="DIR")
    told = parser.parse_args()
    chosen = [n for n in ROWS if not told.rows or any(p in n for p in told.rows.split(","))]
    if told.save:
        for name in chosen:
            told.save.mkdir(parents=True, exist_ok=True)
            (told.save / f"{name.split()[0]}.ptx").write_text(ROWS[name]().kernel.text)
        return
    stretches.HOT = 0  # code is made when a stretch first comes
    results: dict[str, Any] = {"environment": environment(), "rows": {}}
    for name in chosen:
        results["rows"][name] = measure(ROWS[name], told.repeat)
    print(table(results["rows"]))
    if told.json:
        told.json.parent.mkdir(parents=True, exist_ok=True)
        told.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
