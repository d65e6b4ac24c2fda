"""The debugger's engine on the anchor matmul at 512^3: milliseconds a step, forwards and back.

    python -m benchmarks.debugger [--lines 1000] [--json FILE]

`start` is how long it takes to stand at the first line of an instance in the middle of the grid, what
comes before included. `step` is one line forwards, `judged` with all checkers on; the worst is the line
with the product. `back` walks the whole record backwards a line at a time, memory undone on the way.
`bytes` is what the history counts of itself, `peak` by how much the process grew meanwhile. The last
row has a history too small for the run: what is gone is run again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("IMPL", "blockstep")
from benchmarks.kernels import matmul
from blockstep.debugger.history import LIMIT
from blockstep.debugger.moments import Reason
from blockstep.debugger.session import Session
from blockstep.runtime.ladder.launch import Launch, take

SIZE, BM, BN, BK, GROUP = 512, 64, 64, 32, 8
MIDDLE = (30, 0, 0)


def anchor() -> Launch:
    """The launch, not yet run."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in range(2))
    c = np.zeros((SIZE, SIZE), np.float16)
    strides = [s // x.itemsize for x in (a, b, c) for s in x.strides]
    meta = {"BM": BM, "BN": BN, "BK": BK, "GROUP": GROUP}
    return take(matmul, (a, b, c, SIZE, SIZE, SIZE, *strides), meta, (SIZE // BM * (SIZE // BN),))


def measure(judged: bool, lines: int, limit: int = LIMIT) -> dict[str, Any]:
    """One session: so many lines forwards, then all of them back."""
    session = Session(anchor(), judged=judged, limit=limit)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    session.start(MIDDLE)
    row: dict[str, Any] = {"start_ms": _ms(began)}
    steps, worst = _walk(session, lines)
    row |= {"step_ms": statistics.median(steps), "worst_step_ms": max(steps), "worst_line": worst}
    began, count = time.perf_counter(), 0
    while count < lines and session.reverse_step().reason is not Reason.BEGIN:
        count += 1
    row |= {"back_ms": _ms(began), "back_lines": count}
    row |= {"bytes": session.history.bytes, "limit": limit, "kept": len(session.history.moments)}
    row["peak_bytes"] = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    session.close()
    return {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}


def _walk(session: Session, lines: int) -> tuple[list[float], str]:
    took, worst = [], (0.0, "")
    for _ in range(lines):
        frame = session.stop.frames[-1]  # type: ignore[union-attr]
        began = time.perf_counter()
        session.step()
        took.append(_ms(began))
        worst = max(worst, (took[-1], f"{frame.function}:{frame.line}"))
    return took, worst[1]


def _ms(began: float) -> float:
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Measures, prints and keeps the figures."""
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told.add_argument("--lines", type=int, default=1000)
    told.add_argument("--json", type=Path)
    options = told.parse_args()
    rows = {
        "unjudged": measure(False, options.lines),
        "judged": measure(True, options.lines),
        "judged, 4 MiB of history": measure(True, options.lines, 4 << 20),
    }
    for name, row in rows.items():
        print(name, json.dumps(row))
    if options.json:
        kept = {
            "date": datetime.now(UTC).date().isoformat(), "python": platform.python_version(),
            "cores": os.cpu_count(), "lines": options.lines, "rows": rows,
        }  # fmt: skip
        options.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
