"""The step machine against Triton's interpreter: the same kernels, side by side in one run.

    python benchmarks/interpreters.py --triton-python /path/to/python [--json FILE] [--parts]

Two child processes, one for each side, stay alive and launch in turn (A B A B …), so that whatever
else the machine does falls on both. A child times its own launches: wall clock, and the process's
CPU time, which a busy machine disturbs less. Triton's interpreter checks nothing; ours is timed
with every checker on (inside `with blockstep.check():`, outputs made there too, so that they count
as unwritten memory) and unjudged. `--parts` also times it with one checker at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CASES = {
    "vector add": "2^20 f32, BLOCK 1024",
    "softmax": "1024x1024 f32",
    "layer norm": "1024x1024 f32",
    "matmul": "512^3 f16, 64x64x32",
    "attention": "causal f16, 4x512x64",
    "dropout": "2^18 f32, BLOCK 1024",
}
PARTS = ("bounds", "uninit", "race", "overlap", "grid", "arithmetic")
KINDS = {"arithmetic": ("overflow", "division", "cast"), "uninit": ("uninitialised",)}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


# In a child.


def child(side: str) -> None:
    """Answers each line `{"case", "mode"}` on stdin with `{"wall", "cpu"}` in seconds."""
    os.environ["IMPL"] = side
    os.environ["BLOCKSTEP_MACHINE"] = "step"
    sys.path.insert(0, str(HERE))
    launches = _launches()
    for line in sys.stdin:
        asked = json.loads(line)
        with _judged(asked["mode"]):
            launch, expected = launches[asked["case"]]()
            wall, cpu = time.perf_counter(), time.process_time()
            result = launch()
            spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        _verify(asked["case"], result, expected)
        print(json.dumps(spent), flush=True)


@contextlib.contextmanager
def _judged(mode: str) -> Iterator[None]:
    """With every checker ("checked"), with one of them, or with none ("plain")."""
    if mode == "plain":
        yield
        return
    import blockstep

    only = None if mode == "checked" else KINDS.get(mode, (mode,))
    with blockstep.check(only=only) as report:
        yield
    if report.findings:
        raise SystemExit(f"there are findings in a correct kernel: {report.findings}")


def _verify(case: str, result: Any, expected: Any) -> None:
    import torch

    if expected is not None:
        torch.testing.assert_close(result.float(), expected.float(), atol=2e-2, rtol=1e-2)


def _launches() -> dict[str, Callable[[], tuple[Callable[[], Any], Any]]]:
    """For each case, what makes a launch (fresh outputs, same inputs) and its expected result."""
    import kernels as k
    import torch

    torch.manual_seed(0)
    x, z = torch.randn(2**20), torch.randn(2**20)
    a, w = torch.randn(1024, 1024), torch.randn(1024)
    left = torch.randn(512, 512, dtype=torch.float16)
    right = torch.randn(512, 512, dtype=torch.float16)
    q = torch.randn(1, 4, 512, 64, dtype=torch.float16)
    attended = torch.nn.functional.scaled_dot_product_attention(
        q.float(), q.float(), q.float(), is_causal=True
    )
    answers = {
        "vector add": x + z,
        "softmax": torch.softmax(a, -1),
        "layer norm": torch.nn.functional.layer_norm(a, (1024,), w, w),
        "matmul": left.float() @ right.float(),
        "attention": attended,
        "dropout": None,
    }

    def of(case: str, kernel: Any, grid: Any, like: Any, arguments: Any, **options: Any) -> Any:
        def make() -> tuple[Callable[[], Any], Any]:
            out = torch.empty_like(like)
            made = [out if argument is OUT else argument for argument in arguments]

            def launch() -> Any:
                kernel[grid](*made, **options)
                return out

            return launch, answers[case]

        return make

    n, s, big = 1024, 512, 2**18
    return {
        "vector add": of(
            "vector add", k.vector_add, (n,), x, (x, z, OUT, 2**20), BLOCK=1024
        ),
        "softmax": of("softmax", k.softmax, (n,), a, (OUT, a, n, n, n), BLOCK=1024),
        "layer norm": of(
            "layer norm", k.layer_norm, (n,), a, (a, OUT, w, w, n, n, 1e-5), BLOCK=1024
        ),
        "matmul": of(
            "matmul", k.matmul, (64,), left, (left, right, OUT, s, s, s, s, 1, s, 1, s, 1),
            BM=64, BN=64, BK=32, GROUP=8,
        ),
        "attention": of(
            "attention", k.attention, (8, 4), q, (q, q, q, OUT, 1.4427 / 8, s),
            D=64, BM=64, BN=64, CAUSAL=True,
        ),
        "dropout": of(
            "dropout", k.dropout, (256,), x[:big], (x, OUT, big, 0.5, 123), BLOCK=1024
        ),
    }  # fmt: skip


OUT = object()  # stands for the output among a kernel's arguments


# In the parent.


class Side:
    """A child process that launches kernels and says what that took."""

    def __init__(self, python: str, side: str) -> None:
        environment = os.environ | dict.fromkeys(THREADS, "1")
        if side == "triton":
            environment |= {"TRITON_INTERPRET": "1"}
        self._process = subprocess.Popen(
            [python, __file__, "--child", side],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def time(self, case: str, mode: str) -> dict[str, float]:
        """Seconds of one launch."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"case": case, "mode": mode}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the child process failed at {case} ({mode}): see above")
        spent: dict[str, float] = json.loads(answer)
        return spent

    def close(self) -> None:
        """Ends the child."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measure(sides: dict[str, tuple[Side, str]], case: str, rounds: int) -> dict[str, Any]:
    """Median wall and CPU milliseconds of every entry of `sides`, launched in turn."""
    spent: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, (side, mode) in sides.items():
            found = side.time(case, mode)
            if turn:  # the first launch of all compiles and fills caches
                spent[name].append(found)
    return {
        name: {
            clock: round(1e3 * statistics.median(one[clock] for one in all_of), 3)
            for clock in ("wall", "cpu")
        }
        for name, all_of in spent.items()
    }


def environment(triton_python: str | None) -> dict[str, Any]:
    """What the numbers depend on."""
    found: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": [round(x, 2) for x in os.getloadavg()],
        "threads": 1,
        "numpy": importlib.metadata.version("numpy"),
    }
    if triton_python is not None:
        asked = "import numpy, triton; print(triton.__version__, numpy.__version__)"
        answer = subprocess.run(
            [triton_python, "-c", asked], capture_output=True, text=True, check=True
        ).stdout.split()
        found["triton"], found["triton's numpy"] = answer
    return found


def table(results: dict[str, dict[str, Any]]) -> str:
    """The medians as text, with the ratios that count: Triton's over ours, checked."""
    names = list(next(iter(results.values())))
    rows = [["ms (wall / CPU)", *names, "ratio wall", "ratio CPU"]]
    for case, found in results.items():
        cells = [f"{found[n]['wall']:.1f} / {found[n]['cpu']:.1f}" for n in names]
        rows.append([case, *cells, *(_ratio(found, clock) for clock in ("wall", "cpu"))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _ratio(found: dict[str, Any], clock: str) -> str:
    if "triton" not in found:
        return "-"
    return f"{found['triton'][clock] / found['checked'][clock]:.1f}"


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--triton-python", metavar="PATH", help="a Python that has triton, torch")
    parser.add_argument("--json", metavar="FILE", type=Path, help="where the numbers go")
    parser.add_argument("--rounds", type=int, default=7, help="launches that count, of each")
    parser.add_argument("--case", action="append", choices=CASES, help="only this kernel")
    parser.add_argument("--parts", action="store_true", help="also each checker alone")
    parser.add_argument("--child", choices=("triton", "blockstep"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child)
        return
    ours = Side(sys.executable, "blockstep")
    sides = {"checked": (ours, "checked"), "plain": (ours, "plain")}
    if chosen.triton_python:
        sides = {"triton": (Side(chosen.triton_python, "triton"), "plain")} | sides
    if chosen.parts:
        sides |= {part: (ours, part) for part in PARTS}
    results = {case: measure(sides, case, chosen.rounds) for case in chosen.case or CASES}
    for side in {side for side, _ in sides.values()}:
        side.close()
    print(table(results))
    if chosen.json:
        about = {"environment": environment(chosen.triton_python), "sizes": CASES}
        chosen.json.write_text(json.dumps(about | {"milliseconds": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
