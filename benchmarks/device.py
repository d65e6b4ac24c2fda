"""Everything that can be tested on a CUDA device, in one command; the counts are kept as JSON.

    python benchmarks/device.py [--json benchmarks/results/device.json] [--only PART[,PART]]

rows      every row of operations and the examples: compiled, run, compared
          with the CPU's result (bits, or units in the last place of approximate functions)
exact     the same with exact code
ptx       the same with exact code, and every test of tests/ops, compared with the ptx machine
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
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ROWS = ["tests/test_registry.py", "tests/test_examples.py"]
RUNTIME = ["tests/device/test_gpu_runtime.py", "tests/device/test_device_arguments.py"]
PARTS: dict[str, tuple[list[str], dict[str, str]]] = {
    "rows": (["-p", "tests.device.on_gpu", *ROWS], {}),
    "exact": (["-p", "tests.device.on_gpu", *ROWS], {"BLOCKSTEP_GPU_EXACT": "1"}),
    "ptx": (
        ["-p", "tests.device.on_gpu", *ROWS, "tests/ops"],
        {"BLOCKSTEP_GPU_EXACT": "1", "BLOCKSTEP_GPU_AGAINST": "ptx"},
    ),
    "triton": (["tests/device/test_against_triton.py"], {"BLOCKSTEP_MACHINE": "gpu"}),
    "runtime": (RUNTIME, {}),
    "libraries": (["-n", "8", "tests/libraries"], {"BLOCKSTEP_MACHINE": "gpu"}),
}


def run(name: str, folder: Path) -> dict[str, Any]:
    """One part: how many tests passed, and what the plugin or the comparison counted."""
    words, environment = PARTS[name]
    report = folder / f"{name}.json"
    told = {
        **os.environ, **environment,
        "BLOCKSTEP_GPU_REPORT": str(report), "BLOCKSTEP_AGAINST": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", *words]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    (folder / f"{name}.log").write_text(done.stdout + done.stderr)
    found: dict[str, Any] = {
        kind: int(count)
        for count, kind in re.findall(r"(\d+) (passed|failed|skipped|errors?)", lines[-1])
    }
    found["seconds"] = round(time.perf_counter() - started, 1)
    found["failures"] = [line[:300] for line in lines if line.startswith(("FAILED", "ERROR"))]
    for path, key in ((report, "launches"), (folder / "report.json", "against")):
        if path.exists() and (key == "launches" or name == "triton"):
            found[key] = _counts(json.loads(path.read_text()))
    return found


def _counts(report: dict[str, Any]) -> Any:
    if "groups" in report:
        return report["groups"]
    return {**{k: v for k, v in report.items() if k != "far"}, "far": len(report["far"]),
            "examples": report["far"][:40]}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
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
            results[name] = run(name, Path(folder))
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
