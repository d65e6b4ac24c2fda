"""The same kernels on a GPU through Triton and here: equal bits, or within a stated bound.

Both run in child processes over the same file, `against/run.py`, in which `import triton` is the
real one or this project. `docs/against-triton.md` says what is compared and what is known to differ.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
AGAINST = ROOT / "tests" / "device" / "against"
GROUPS = (
    "pairs", "literals", "casts", "unary", "exact", "blocks", "random sums", "mathematics",
    "libdevice", "random", "assembly", "memory", "control", "boxes", "descriptors", "atomics",
    "contended", "products", "rounding of operands", "random products", "scaled products",
)  # fmt: skip

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)
if importlib.util.find_spec("triton") is None:
    pytest.skip("needs Triton", allow_module_level=True)


def _start(folder: Path, engine: str, part: int, parts: int, seed: int) -> tuple[Any, Path]:
    target = folder / f"{engine}{part}.npz"
    command = [sys.executable, *(("-m", "blockstep", "run") if engine == "blockstep" else ())]
    words = [str(AGAINST / "run.py"), str(target), "--seed", str(seed), "--part", f"{part}/{parts}"]
    environment = {**os.environ, "PYTHONPATH": _path(), "TRITON_CACHE_DIR": str(folder / "cache")}
    log = (folder / f"{engine}{part}.log").open("w")
    child = subprocess.Popen([*command, *words], env=environment, stdout=log, stderr=log, cwd=ROOT)
    return child, target


def _path() -> str:
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


def _results(folder: Path, engine: str, parts: int, seed: int) -> list[str]:
    started = [_start(folder, engine, part, parts, seed) for part in range(parts)]
    for child, target in started:
        log = target.with_suffix(".log")
        assert child.wait(timeout=400) == 0, log.read_text()[-2000:]
    return [str(target) for _, target in started]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything compared, once. `BLOCKSTEP_AGAINST` names a folder that keeps the results."""
    kept = os.environ.get("BLOCKSTEP_AGAINST")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("against")
    seed = int(os.environ.get("BLOCKSTEP_SEED") or secrets.randbits(31))
    cores = os.cpu_count() or 2
    theirs = _results(folder, "triton", max(1, cores - 2), seed)
    ours = _results(folder, "blockstep", max(1, min(6, cores - 2)), seed)
    path = folder / "report.json"
    command = [sys.executable, "-m", "blockstep", "run", str(AGAINST / "report.py"), str(path),
               "--seed", str(seed), "--ours", *ours, "--theirs", *theirs]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": _path()}
    subprocess.run(command, env=environment, cwd=ROOT, check=False, timeout=300)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_results_are_those_of_triton(report: dict[str, Any], group: str) -> None:
    wrong = [
        case for case in report["cases"] if case["key"].startswith(f"{group}/") and case["wrong"]
    ]
    assert group in report["groups"]
    words = [f"{c['key']}: {c['refused'] or c['examples'][:1]}" for c in wrong[:10]]
    assert not wrong, f"seed {report['seed']}, {len(wrong)} cases\n" + "\n".join(words)
