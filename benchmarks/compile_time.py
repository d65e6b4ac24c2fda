"""How long compiling takes, from the kernel's source to machine code: ours and Triton's.

    python benchmarks/compile_time.py --triton PYTHON [--rounds 5] [--json FILE]

PYTHON is an interpreter that has Triton; neither side needs a GPU. Each figure is a process of its
own with an empty disk cache, the two sides take turns, and the median counts. "warm" is a kernel in
a process that has compiled another one; "cold" is the first kernel of a process, all imports
included. Processor time is that of the process and of what it starts (the assembler): a machine with
other guests stretches the wall clock, and the processor time much less.

The start from the disk cache is ours alone: a process that finds the kernel there. It counts from
the call that asks for the code to the code in hand, imports on the way included; importing
`blockstep` and NumPy, which the script does before, is counted apart.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
TARGET, ARCHITECTURE = "h100", 90
FLOAT, HALF = "fp32", "fp16"


@dataclass(frozen=True)
class Case:
    """A kernel with its arguments by name: an element type stands for a pointer to such elements, a
    number for itself; what the kernel declares as a constexpr is one."""

    kernel: str
    arguments: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3


def _square(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, HALF)


CASES = {
    "row sum": Case("row_sum", {"x_ptr": FLOAT, "out_ptr": FLOAT, "n": 1024, "BLOCK": 1024}),
    "vector add": Case(
        "vector_add",
        {"x_ptr": FLOAT, "y_ptr": FLOAT, "out_ptr": FLOAT, "n": 1 << 20, "BLOCK": 1024},
    ),
    "softmax": Case(
        "softmax",
        {
            "out_ptr": FLOAT, "in_ptr": FLOAT, "in_stride": 1024, "out_stride": 1024,
            "n_cols": 1024, "BLOCK": 1024,
        },
    ),
    "layer norm": Case(
        "layer_norm",
        {
            "x_ptr": FLOAT, "y_ptr": FLOAT, "w_ptr": FLOAT, "b_ptr": FLOAT, "stride": 1024,
            "n": 1024, "eps": 1e-5, "BLOCK": 1024,
        },
    ),
    "matmul": Case(
        "matmul",
        {
            **_square("a_ptr", "b_ptr", "c_ptr"), "M": 1024, "N": 1024, "K": 1024,
            "sam": 1024, "sak": 1, "sbk": 1024, "sbn": 1, "scm": 1024, "scn": 1,
            "BM": 128, "BN": 256, "BK": 64, "GROUP": 8,
        },
        num_warps=8,
    ),
    "attention": Case(
        "attention",
        {
            **_square("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "scale": 0.1, "S": 4096,
            "D": 128, "BM": 128, "BN": 128, "CAUSAL": True,
        },
        num_warps=8,
    ),
    "sort": Case("sort", {"x_ptr": FLOAT, "out_ptr": FLOAT, "BLOCK": 1024}),
}  # fmt: skip
FIRST = "row sum"  # what a warm process has compiled before


# ---- the child processes


def seconds() -> tuple[float, float]:
    """Processor time of this process and of the ended ones that it started, and the wall clock."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used), time.perf_counter()


def timed(work: Callable[[], Any]) -> tuple[Any, list[float]]:
    """What `work` returns, and its processor and wall time in ms."""
    before = seconds()
    result = work()
    return result, [1000 * (b - a) for a, b in zip(before, seconds(), strict=True)]


def child(side: str, mode: str, name: str) -> None:
    """One figure: prints times in ms, and what was made, as JSON."""
    os.environ["IMPL"] = {"ours": "blockstep", "triton": "triton"}[side]
    sys.path[:0] = [str(HERE), str(ROOT)]
    compile_, imported = timed({"ours": _ours, "triton": _triton}[side])
    if mode == "warm":
        compile_(CASES[FIRST])()
    made, took = timed(compile_(CASES[name]))
    found = {"imports": imported, "took": took, **made}
    if mode == "start":
        found["late"] = [n for n in ("llvmlite", "cuda.bindings.nvjitlink") if n in sys.modules]
    print(json.dumps(found))


Prepared = Callable[[Case], Callable[[], dict[str, Any]]]


def _triton() -> Prepared:
    import kernels

    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    def prepare(case: Case) -> Callable[[], dict[str, Any]]:
        signature, constants, attributes = {}, {}, {}
        for place, (name, value) in enumerate(case.arguments.items()):
            if isinstance(value, str):
                signature[name] = f"*{value}"
            elif name.isupper() and name not in "MNKS":
                signature[name] = "constexpr"
            else:
                signature[name] = "fp32" if isinstance(value, float) else "i32"
            if signature[name] == "constexpr" or value == 1:  # as a launch specialises
                signature[name], constants[name] = "constexpr", value
            elif isinstance(value, str) or isinstance(value, int) and value % 16 == 0:
                attributes[place,] = [["tt.divisibility", 16]]
        source = ASTSource(getattr(kernels, case.kernel), signature, constants, attributes)
        options = {"num_warps": case.num_warps, "num_stages": case.num_stages}

        def work() -> dict[str, Any]:
            made = compile(source, target=GPUTarget("cuda", ARCHITECTURE, 32), options=options)
            return {"cubin": len(made.asm["cubin"])}

        return work

    return prepare


def _ours() -> Prepared:
    import kernels
    import numpy as np

    from blockstep import target
    from blockstep.runtime.arguments import bind
    from blockstep.runtime.gpu.selection import compiler

    def prepare(case: Case) -> Callable[[], dict[str, Any]]:
        kernel = getattr(kernels, case.kernel)
        kinds = {FLOAT: np.float32, HALF: np.float16}
        values = [
            np.zeros(64, kinds[v]) if isinstance(v, str) else v for v in case.arguments.values()
        ]
        bound = bind(
            kernel.params, tuple(values), {}, kernel=case.kernel, passed_at=None, options=()
        )
        options = {"num_warps": case.num_warps, "num_stages": case.num_stages}

        def work() -> dict[str, Any]:
            compile_ = compiler()
            assert compile_ is not None
            with target.using(target.find(TARGET)):
                made = compile_(kernel, bound, options)
            return {"cubin": len(made.image)}

        return work

    return prepare


# ---- the parent


def run(python: str, side: str, mode: str, name: str, folder: str, pycache: str) -> dict[str, Any]:
    """One figure, by a child process that keeps its disk cache in `folder` and the bytecode of
    what it imports in `pycache`."""
    told = os.environ | {
        "TRITON_CACHE_DIR": folder, "BLOCKSTEP_CACHE_DIR": folder, "PYTHONPYCACHEPREFIX": pycache,
    }  # fmt: skip
    told.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [python, __file__, "--child", side, mode, name]
    ran = subprocess.run(command, env=told, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def measured(triton: str | None, names: list[str], rounds: int) -> dict[str, Any]:
    """Every figure of every round, by kernel, mode and side."""
    sides = {"ours": sys.executable} | ({"triton": triton} if triton else {})
    found: dict[str, Any] = {name: {} for name in names}
    with tempfile.TemporaryDirectory() as pycache:
        for side, python in sides.items():  # writes the bytecode: not counted
            with tempfile.TemporaryDirectory() as folder:
                run(python, side, "cold", FIRST, folder, pycache)
        for _, name in itertools.product(range(rounds), names):
            for side, python in sides.items():
                for mode, one in figures(python, side, name, pycache):
                    found[name].setdefault(f"{mode} {side}", []).append(one)
            print(".", end="", file=sys.stderr, flush=True)
    return found


def figures(
    python: str, side: str, name: str, pycache: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """One figure of each mode."""
    for mode in ("warm", "cold"):
        with tempfile.TemporaryDirectory() as folder:
            yield mode, run(python, side, mode, name, folder, pycache)
            if (side, mode) == ("ours", "cold"):
                yield "start", run(python, side, "start", name, folder, pycache)


def summary(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Medians in ms, by kernel: `warm ours cpu`, `cold triton wall`, … and ratios."""
    rows = {}
    for name, runs in found.items():
        row: dict[str, float] = {}
        for what, ones in runs.items():
            for place, clock in enumerate(("cpu", "wall")):
                all_of = ("imports", "took") if what.startswith("cold") else ("took",)
                row[f"{what} {clock}"] = _median(
                    sum(one[part][place] for part in all_of) for one in ones
                )
                row[f"{what} imports {clock}"] = _median(one["imports"][place] for one in ones)
        for mode in ("warm", "cold"):
            for clock in ("cpu", "wall"):
                theirs = row.get(f"{mode} triton {clock}")
                if theirs is not None:
                    ratio = row[f"{mode} ours {clock}"] / theirs
                    row[f"{mode} ratio {clock}"] = round(ratio, 2)
        rows[name] = row
    return rows


def _median(values: Any) -> float:
    return round(statistics.median(values), 1)


def show(rows: dict[str, dict[str, float]]) -> None:
    """A table for each mode: ms of processor (and wall) time."""
    for mode in ("warm", "cold"):
        print(f"\n{mode}: ms of processor time (wall clock)")
        for name, row in rows.items():
            cells = [
                f"{side} {row[f'{mode} {side} cpu']:7.0f} ({row[f'{mode} {side} wall']:.0f})"
                for side in ("ours", "triton")
                if f"{mode} {side} cpu" in row
            ]
            ratio = row.get(f"{mode} ratio cpu")
            told = "" if ratio is None else f"   ratio {ratio} ({row[f'{mode} ratio wall']})"
            print(f"{name:12}", "   ".join(cells) + told)
    print("\nstart from the disk cache: ms of processor time (wall clock); imports before")
    for name, row in rows.items():
        took, wall = row["start ours cpu"], row["start ours wall"]
        print(f"{name:12} {took:7.1f} ({wall:.1f})   imports {row['start ours imports cpu']:.0f}")


def versions(triton: str | None) -> dict[str, str]:
    """What was measured."""
    from importlib.metadata import version

    told = {name: version(name) for name in ("llvmlite", "nvidia-cuda-nvcc")}
    told["python"] = sys.version.split()[0]
    if triton:
        ask = "import triton; print(triton.__version__)"
        told["triton"] = subprocess.check_output([triton, "-c", ask], text=True).strip()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triton", help="an interpreter that has Triton")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", help="a kernel; may be given several times")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.child:
        child(*told.child)
        return
    names = told.only or [name for name in CASES if name != FIRST]
    found = measured(told.triton, names, told.rounds)
    rows = summary(found)
    show(rows)
    if told.json:
        late = {n for runs in found.values() for one in runs["start ours"] for n in one["late"]}
        kept = {
            "target": f"sm_{ARCHITECTURE}a", "rounds": told.rounds, "cores": os.cpu_count(),
            "versions": versions(told.triton), "unit": "ms",
            "imported by a start from the cache": sorted(late), "kernels": rows,
        }  # fmt: skip
        told.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
