"""Everything that can be tested on a CUDA device, in one command; the counts are kept as JSON.

    python benchmarks/device.py [--json benchmarks/results/device.json] [--only PART[,PART]]

rows      every row of operations and the examples: compiled, run, compared
          with the CPU's result (bits, or units in the last place of approximate functions)
exact     the same with exact code
ptx       the same with exact code, and every test of tests/ops, compared with the ptx machine;
          a process for each file, since a fault on the device ends the context of its process
triton    the cases of tests/device/against, compiled by us and by Triton: bits, or the stated bound
runtime   streams, graphs, copies, assertions, tensor maps, timing
libraries kernels of published wheels against PyTorch, if the wheels are installed
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ROWS = ["tests/test_registry.py", "tests/test_examples.py"]
OPERATIONS = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests/ops").glob("test_*.py"))
APART = ("ptx",)  # parts that run in a process for each file
RUNTIME = ["tests/device/test_gpu_runtime.py", "tests/device/test_device_arguments.py"]
PARTS: dict[str, tuple[list[str], dict[str, str]]] = {
    "rows": (["-p", "tests.device.on_gpu", *ROWS], {}),
    "exact": (["-p", "tests.device.on_gpu", *ROWS], {"BLOCKSTEP_GPU_EXACT": "1"}),
    "ptx": (
        ["-p", "tests.device.on_gpu", *ROWS, *OPERATIONS],
        {"BLOCKSTEP_GPU_EXACT": "1", "BLOCKSTEP_GPU_AGAINST": "ptx"},
    ),
    "triton": (["tests/device/test_against_triton.py"], {"BLOCKSTEP_MACHINE": "gpu"}),
    "runtime": (RUNTIME, {}),
    "libraries": (["-n", "14", "tests/libraries"], {"BLOCKSTEP_MACHINE": "gpu"}),
}


def run(name: str, folder: Path, jobs: int) -> dict[str, Any]:
    """One part: how many tests passed, and what the plugin or the comparison counted."""
    words, environment = PARTS[name]
    files = [word for word in words if word.endswith(".py")]
    others = [word for word in words if word not in files]
    groups = [[*others, file] for file in files] if name in APART else [words]
    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(lambda i: _process(f"{name}{i}", groups[i], environment, folder),
                              range(len(groups))))  # fmt: skip
    found: dict[str, Any] = dict(sum((Counter(part.pop("tests")) for part in parts), Counter()))
    found["seconds"] = max(part["seconds"] for part in parts)
    found["failures"] = [line for part in parts for line in part["failures"]]
    told = [part["launches"] for part in parts if part["launches"]]
    if told:
        found["launches"] = _launches(told)
    if name == "triton" and (folder / "report.json").exists():
        found["against"] = json.loads((folder / "report.json").read_text())["groups"]
    return found


def _process(
    title: str, words: list[str], environment: dict[str, str], folder: Path
) -> dict[str, Any]:
    report = folder / f"{title}.json"
    told = {
        **os.environ, **environment,
        "BLOCKSTEP_GPU_REPORT": str(report), "BLOCKSTEP_AGAINST": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", *words]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines() or ["nothing was printed"]
    (folder / f"{title}.log").write_text(done.stdout + done.stderr)
    counts = re.findall(r"(\d+) (passed|failed|skipped|errors?)", lines[-1])
    failures = [line[:300] for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {
        "tests": {kind: int(count) for count, kind in counts},
        "seconds": round(time.perf_counter() - started, 1),
        "failures": failures if counts else [*failures, f"{words[-1]}: {lines[-1][:200]}"],
        "launches": json.loads(report.read_text()) if report.exists() else None,
    }


def _launches(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """What the processes of a part counted, together; of what differs the first forty."""
    far = [one for report in reports for one in report["far"]]
    return {
        "launches": sum(report["launches"] for report in reports),
        "near": sum(report["near"] for report in reports),
        "reasons": sum((Counter(report["reasons"]) for report in reports), Counter()),
        "far": len(far),
        "examples": far[:40],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    names = [n for n in chosen.only.split(",") if n] or list(PARTS)
    import torch

    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "python": platform.python_version(),
        **{n: _version(n) for n in ("torch", "triton", "llvmlite", "cuda-bindings", "numpy")},
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            results[name] = run(name, Path(folder), chosen.jobs)
            print(
                name, json.dumps({k: v for k, v in results[name].items() if k != "against"})[:1500]
            )
            if chosen.json:
                Path(chosen.json).write_text(json.dumps(results, indent=1) + "\n")
    return int(any(results[name].get("failed") or results[name].get("error") for name in names))


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"


if __name__ == "__main__":
    sys.exit(main())
