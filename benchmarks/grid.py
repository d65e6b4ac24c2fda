"""The grid machine: milliseconds a launch, unjudged, with each checker and with all usual ones.

    python benchmarks/grid.py [--repeat 15] [--json FILE] [--rows add,softmax,…]

Each row runs in one process: NumPy on whole arrays (the floor), the machine unjudged, with each
checker alone, with all usual ones (`precision` is not). The sides take turns, each turn in another
order, and the medians are printed; `ratio` is the median of the turns' own ratios of `judged` to
`unjudged`, `best` the least time of `judged`. Whatever is chosen, the machine keeps accesses inside
their arguments, so `bounds` adds nothing. `--scaling` measures vector add from 2^16 to 2^28 elements
with the peak of resident memory; `--step` adds the step machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
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

rng = np.random.default_rng(0)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(
        out_ptr + offs,
        tl.load(x_ptr + offs, mask=mask) + tl.load(y_ptr + offs, mask=mask),
        mask=mask,
    )


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    nm, nn = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * nn)
    size = min(nm - group * GROUP, GROUP)
    pm = group * GROUP + (pid % (GROUP * nn)) % size
    pn = (pid % (GROUP * nn)) // size
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    a = a_ptr + (rm % M)[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + (rn % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        at = tl.load(a, mask=rk[None, :] < K - k * BK, other=0.0)
        bt = tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(at, bt, acc)
        a += BK * sak
        b += BK * sbk
    c = c_ptr + rm[:, None] * scm + rn[None, :] * scn
    tl.store(c, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def softmax(out_ptr, in_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(in_ptr + row * n + cols, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def gather(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    index = tl.load(index_ptr + offs, mask=mask, other=0)
    tl.store(out_ptr + offs, tl.load(x_ptr + index, mask=mask), mask=mask)


@triton.jit
def scatter(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    index = tl.load(index_ptr + offs, mask=mask, other=0)
    tl.store(out_ptr + index, tl.load(x_ptr + offs, mask=mask), mask=mask)


@triton.jit
def histogram(x_ptr, count_ptr, place_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0)
    old = tl.atomic_add(count_ptr + x, 1, mask=mask)
    tl.store(place_ptr + offs, old, mask=mask)


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
def countdown(trips_ptr, out_ptr):
    pid = tl.program_id(0)
    left = tl.load(trips_ptr + pid)
    steps = 0
    while left > 0:
        left -= 1
        steps += 2
    tl.store(out_ptr + pid, steps)


@dataclass
class Row:
    """A launch, the same result in NumPy, and the target in milliseconds with every checker on."""

    launch: Callable[[], object]
    floor: Callable[[], object]
    right: Callable[[], bool]
    target: float


def _floats(*shape: int) -> np.ndarray:
    return rng.random(shape, dtype=np.float32)


def row_add(n: int = 2**24) -> Row:
    x, y, out = _floats(n), _floats(n), np.zeros(n, np.float32)
    launch = lambda: add[(n // 1024,)](x, y, out, n, BLOCK=1024)  # noqa: E731
    return Row(launch, lambda: np.add(x, y, out=out), lambda: np.array_equal(out, x + y), 30)


def row_matmul() -> Row:
    n = 1024
    a, b = (rng.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    c = np.zeros((n, n), np.float16)
    wide = a.astype(np.float32) @ b.astype(np.float32)
    launch = lambda: matmul[(256,)](  # noqa: E731
        a, b, c, n, n, n, n, 1, n, 1, n, 1, BM=64, BN=64, BK=32, GROUP=8
    )
    floor = lambda: (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)  # noqa: E731
    return Row(launch, floor, lambda: np.allclose(c, wide, rtol=1e-2, atol=0.1), 90)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def row_softmax() -> Row:
    x, out = _floats(1024, 1000), np.zeros((1024, 1000), np.float32)
    launch = lambda: softmax[(1024,)](out, x, 1000, BLOCK=1024)  # noqa: E731
    return Row(launch, lambda: _softmax(x), lambda: np.allclose(out, _softmax(x), rtol=1e-5), 6)


def row_gather() -> Row:
    n = 2**20
    x, index, out = _floats(n), rng.integers(0, n, n).astype(np.int32), np.zeros(n, np.float32)
    launch = lambda: gather[(n // 1024,)](x, index, out, n, BLOCK=1024)  # noqa: E731
    return Row(launch, lambda: x.take(index, out=out), lambda: np.array_equal(out, x[index]), 8)


def row_scatter() -> Row:
    n = 2**20
    x, index, out = _floats(n), rng.permutation(n).astype(np.int32), np.zeros(n, np.float32)

    def floor() -> None:
        out[index] = x

    launch = lambda: scatter[(n // 1024,)](x, index, out, n, BLOCK=1024)  # noqa: E731
    return Row(launch, floor, lambda: np.array_equal(out[index], x), 30)


def row_histogram() -> Row:
    n = 2**20
    x = rng.integers(0, 256, n).astype(np.int32)
    count, place = np.zeros(256, np.int32), np.zeros(n, np.int32)

    def launch() -> None:
        count[:] = 0
        histogram[(n // 1024,)](x, count, place, n, BLOCK=1024)

    def right() -> bool:
        return np.array_equal(count, np.bincount(x, minlength=256)) and place.max() < count.max()

    return Row(launch, lambda: np.bincount(x, minlength=256), right, 30)


def row_attention() -> Row:
    q = rng.standard_normal((4, 512, 64)).astype(np.float16)
    out = np.zeros_like(q)

    def floor() -> np.ndarray:
        w = q.astype(np.float32)
        s = np.where(np.tri(512, dtype=bool), w @ w.transpose(0, 2, 1) / 8, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True) @ w

    launch = lambda: attention[(8, 4)](  # noqa: E731
        q, q, q, out, 1.4426950408889634 / 8, 512, D=64, BM=64, BN=64
    )
    return Row(launch, floor, lambda: np.allclose(out, floor(), rtol=2e-2, atol=2e-2), 40)


def row_while() -> Row:
    trips, out = rng.integers(0, 100, 16384).astype(np.int32), np.zeros(16384, np.int32)
    launch = lambda: countdown[(16384,)](trips, out)  # noqa: E731
    return Row(launch, lambda: trips * 2, lambda: np.array_equal(out, trips * 2), 60)


ROWS: dict[str, Callable[[], Row]] = {
    "add f32 2^24": row_add,
    "matmul f16 1024": row_matmul,
    "softmax f32 1024x1000": row_softmax,
    "gather 2^20": row_gather,
    "scatter 2^20": row_scatter,
    "histogram 2^20, old used": row_histogram,
    "attention f16 4x512x64": row_attention,
    "divergent while 16384": row_while,
}


CHECKERS = (
    "bounds", "race", "overlap", "uninit", "overflow", "arithmetic", "hint", "grid", "assertion",
    "precision",
)  # fmt: skip
SIDES = ("numpy", "unjudged", *CHECKERS, "judged")


def _time(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def _take(row: Row, side: str) -> tuple[float, set[str]]:
    """Milliseconds of one side, and the machines that ran its launches."""
    if side == "numpy":
        return _time(row.floor), set()
    if side == "unjudged":
        return _time(row.launch), set()
    with triton.check(only=[side] if side in CHECKERS else None) as report:
        took = _time(row.launch)
    assert not report.findings, report.findings
    assert row.right()
    return took, {launch.machine for launch in report.launches}


def measure(make: Callable[[], Row], repeat: int, step: bool) -> dict[str, Any]:
    """Medians of one row, in milliseconds; the sides take turns."""
    row = make()
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    machines: set[str] = set()
    with triton.machine("grid"):
        for turn in range(repeat + 1):
            for place in rng.permutation(len(SIDES)):
                took, ran = _take(row, SIDES[place])
                machines |= ran
                if turn:  # the first turn compiles and warms up
                    times[SIDES[place]].append(took)
    found: dict[str, Any] = {side: statistics.median(ms) for side, ms in times.items()}
    ratios = [on / off for on, off in zip(times["judged"], times["unjudged"], strict=True)]
    checkers = {name: found.pop(name) for name in CHECKERS}
    found |= {"checkers": checkers, "ratio": statistics.median(ratios)}
    found["best"] = min(times["judged"])  # what other programs on the machine disturbed least
    if step:
        with triton.machine("step"), triton.check():
            found["step"] = _time(row.launch)
    return {**found, "target": row.target, "machine": sorted(machines)}


def table(rows: dict[str, dict[str, Any]]) -> str:
    """A column for each row of the benchmark, a line for each side, in milliseconds."""
    shown: list[tuple[str, list[str]]] = [("", [name.split()[0] for name in rows])]
    for side in SIDES:
        held = [row["checkers"] if side in CHECKERS else row for row in rows.values()]
        shown.append((side, [f"{found[side]:.2f}" for found in held]))
    for label in ("ratio", "best", "target", "step"):
        if all(label in row for row in rows.values()):
            shown.append((label, [f"{row[label]:.2f}" for row in rows.values()]))
    shown.append(("machine", [" ".join(row["machine"]) for row in rows.values()]))
    return "\n".join(f"{name:10s}" + "".join(f" {x:>9s}" for x in line) for name, line in shown)


def scaling() -> list[dict[str, float]]:
    """Vector add from 2^16 to 2^28 elements: judged milliseconds, and the peak of memory."""
    out = []
    for power in range(16, 29, 2):
        row = row_add(2**power)
        with triton.machine("grid"), triton.check():
            row.launch()
            ms = statistics.median(_time(row.launch) for _ in range(3))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        out.append(
            {
                "elements": 2**power,
                "judged": ms,
                "peak_MB": peak,
                "arrays_MB": 12 * 2**power / 2**20,
            }
        )
        print(
            f"2^{power}: {ms:9.2f} ms  peak {peak:7.0f} MB, arrays {12 * 2**power / 2**20:6.0f} MB",
            flush=True,
        )
    return out


def environment() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),  # when the measurement began
        "blockstep": triton.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--rows", help="part of the names of the rows, separated by commas")
    parser.add_argument("--step", action="store_true")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--json", type=Path)
    told = parser.parse_args()
    chosen = [n for n in ROWS if not told.rows or any(p in n for p in told.rows.split(","))]
    results: dict[str, Any] = {"environment": environment(), "rows": {}}
    if told.scaling:
        results["scaling"] = scaling()
    else:
        for name in chosen:
            results["rows"][name] = measure(ROWS[name], told.repeat, told.step)
        print(table(results["rows"]))
    if told.json:
        told.json.parent.mkdir(parents=True, exist_ok=True)
        told.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
