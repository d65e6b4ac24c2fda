"""Triton's own tests with blockstep in place of `triton`: passed, failed, skipped by file.

    python benchmarks/peer_tests.py DIR [--files FILE ...] [--unmarked] [--mode interpreter|paths]
                                        [--jobs N] [-k EXPR] [--json FILE]
    python benchmarks/peer_tests.py DIR --mode gpu|triton|both [--files FILE ...] …
    python benchmarks/peer_tests.py DIR --mode ptx [--files FILE ...] [--part I/N] …

DIR is a checkout of Triton 3.6 or its `python/test` folder; its files are linked into a temporary
folder and none is changed. Without `--mode` both are run, see `peer_plugin.py`. Without `--unmarked`
only the tests run that Triton marks for its own interpreter. `gpu` runs all tests of the files on a
CUDA device through blockstep's compiler, `triton` through the Triton that is installed, `both` one
after the other, and tells what only Triton passes. `ptx` runs all tests of the files through
blockstep's compiler on the ptx machine, with no GPU; it takes long, and `--part 1/20` runs every
twentieth test from the first on. `--again FILE ...` reads what was written with `--cases --json` and runs
only what did not pass there: the result is that of all together.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

MARKED = [
    "language/test_core.py",
    "language/test_tensor_descriptor.py",
    "language/test_block_pointer.py",
    "language/test_standard.py",
    "language/test_random.py",
    "language/test_tuple.py",
    "language/test_line_info.py",
    "runtime/test_launch.py",
]
UNMARKED = [
    *MARKED,
    "language/test_conversions.py",
    "language/test_compile_errors.py",
    "language/test_frontend.py",
    "language/test_annotations.py",
    "language/test_libdevice.py",
    "language/test_mxfp.py",
    "language/test_subprocess.py",
    "test_debug.py",
    "test_knobs.py",
    "runtime/test_autotuner.py",
    "runtime/test_specialize.py",
]
ON_DEVICE = [
    "language/test_core.py",
    "language/test_standard.py",
    "language/test_random.py",
    "language/test_conversions.py",
    "language/test_block_pointer.py",
    "language/test_tensor_descriptor.py",
]
COMPILED = ("gpu", "triton", "ptx")
HIDES = "cuda"  # a folder of tests that would stand in for NVIDIA's package of that name
HERE = Path(__file__).resolve().parent


def main() -> int:
    options = _options()
    files = options.files or (UNMARKED if options.unmarked else MARKED)
    modes = [options.mode] if options.mode else ["interpreter", "paths"]
    modes = ["triton", "gpu"] if options.mode == "both" else modes
    if modes[-1] in COMPILED:
        files = options.files or ON_DEVICE
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="peer-tests-") as folder:
        units = _arrange(options.folder, Path(folder))
        for mode in modes:
            results[mode] = _run(mode, units, files, options)
            _print(mode, results[mode])
    if options.mode == "both":
        _print_loss(results)
    elif len(modes) == 2:
        _print_gain(results)
    if options.json:
        for result in results.values():
            if not options.cases:
                del result["cases"]
        text = json.dumps({"environment": _environment(), "modes": results}, indent=1)
        Path(options.json).write_text(text + "\n")
    return 1 if any(result["totals"]["failed"] for result in results.values()) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", nargs="+", help="paths under test/unit")
    parser.add_argument(
        "--unmarked", action="store_true", help="only the tests that are not marked"
    )
    parser.add_argument("--mode", choices=["interpreter", "paths", "gpu", "triton", "both", "ptx"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for one mode")
    parser.add_argument("--limit", type=int, default=60, help="seconds for one test")
    parser.add_argument("--part", default="", metavar="I/N", help="every Nth test from the Ith on")
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="FILE", help="results to complete"
    )
    parser.add_argument("-k", dest="only", default="", help="as pytest's -k")
    parser.add_argument("--json", help="write the counts and every failure there")
    parser.add_argument("--cases", action="store_true", help="the outcome of each test as well")
    return parser.parse_args()


def _arrange(given: Path, folder: Path) -> Path:
    """A copy of the test tree in `folder` with a `pytest.ini` at its root; its unit tests."""
    found = [p for p in (given, given / "test", given / "python" / "test") if (p / "unit").is_dir()]
    if not found:
        raise SystemExit(f"{given} has no python/test/unit")
    root = folder / "test"
    shutil.copytree(found[0], root, ignore=shutil.ignore_patterns("__pycache__", HIDES))
    (root / "pytest.ini").write_text("[pytest]\nmarkers =\n    interpreter\n")
    return root / "unit"


def _run(mode: str, units: Path, files: list[str], options: argparse.Namespace) -> dict[str, Any]:
    report, known = units.parent / f"{mode}.xml", _known(mode, options.again)
    passed = units.parent / f"{mode}.passed"
    passed.write_text(
        "\n".join(name for name, (outcome, _) in known.items() if outcome == "passed")
    )
    on_device = mode in COMPILED
    marked = ["-m", "not interpreter" if options.unmarked else "interpreter"]
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--tb=short", "-W", "ignore"),
        f"--device={'cuda' if on_device else 'cpu'}",
        *([] if mode == "triton" else ["-p", "peer_plugin"]),
        *("-p", "no:cacheprovider", f"--junitxml={report}", "-n", str(options.jobs)),
        *([] if on_device else marked),
        *(["-k", options.only] if options.only else []),
        *files,
    ]  # fmt: skip
    environment = dict(
        os.environ,
        PEER_MODE=mode,
        PEER_LIMIT=str(options.limit),
        PEER_PART=options.part,
        PEER_PASSED=str(passed),
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
    )
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), environment.get("PYTHONPATH", "")])
    started = time.perf_counter()
    with open(units.parent / f"{mode}.txt", "w") as log:
        subprocess.run(
            command, cwd=units, env=environment, stdout=log, stderr=log, timeout=options.timeout, check=False
        )  # fmt: skip
    seconds = time.perf_counter() - started
    if not report.exists():
        raise SystemExit((units.parent / f"{mode}.txt").read_text()[-4000:])
    cases, slow = _read(report)
    slowest = {name: round(s, 2) for name, s in slow.most_common(12)}
    return {"seconds": round(seconds, 1), **_summary({**known, **cases}), "slowest": slowest}


Cases = dict[str, tuple[str, str]]
"""By test: its outcome (passed, failed, skipped), and why."""


def _known(mode: str, files: list[str]) -> Cases:
    found: Cases = {}
    for file in files:
        cases = json.loads(Path(file).read_text())["modes"][mode]["cases"]
        found.update({name: (outcome, reason) for name, (outcome, reason) in cases.items()})
    return found


def _read(report: Path) -> tuple[Cases, Counter[str]]:
    slow: Counter[str] = Counter()
    cases: Cases = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file = str(case.get("classname", "")).removeprefix("unit.").replace(".", "/") + ".py"
        name = f"{file}::{case.get('name')}"
        slow[_function(name)] += float(case.get("time", 0))  # type: ignore[assignment]
        cases[name] = _outcome(case)
    return cases, slow


def _function(name: str) -> str:
    return name.partition("[")[0]


def _summary(cases: Cases) -> dict[str, Any]:
    files: dict[str, Counter[str]] = defaultdict(Counter)
    failures: Counter[str] = Counter()
    skips: Counter[str] = Counter()
    totals = Counter({"passed": 0, "failed": 0, "skipped": 0})
    for name, (outcome, reason) in cases.items():
        files[name.partition("::")[0]][outcome] += 1
        totals[outcome] += 1
        if outcome == "failed":
            failures[f"{_function(name)}: {reason}"] += 1
        elif outcome == "skipped":
            skips[reason] += 1
    return {
        "totals": dict(totals),
        "files": {file: dict(counts) for file, counts in sorted(files.items())},
        "failures": dict(failures.most_common()),
        "skips": dict(skips.most_common()),
        "cases": cases,
    }


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    for child in case:
        if child.tag in ("failure", "error"):
            return "failed", _plain(child.get("message", ""))
        if child.tag == "skipped":
            return "skipped", _plain(child.get("message", ""))
    return "passed", ""


def _plain(message: str) -> str:
    """One line without numbers, so that cases of one kind are counted together."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return re.sub(r"\d+", "N", " | ".join(lines[:3]))[:160]


def _print(mode: str, result: dict[str, Any]) -> None:
    print(f"\n{mode}: {result['seconds']} s")
    columns = ("passed", "failed", "skipped")
    for file, counts in [*result["files"].items(), ("total", result["totals"])]:
        print(f"  {file:36}", *(f"{counts.get(c, 0):6} {c}" for c in columns))
    for title in ("failures", "skips", "slowest"):
        print(f"  {title}:")
        for reason, count in list(result[title].items())[:40]:
            print(f"    {count:6}  {reason}")


def _print_gain(results: dict[str, Any]) -> None:
    first, second = results["interpreter"]["cases"], results["paths"]["cases"]
    skipped = [name for name, (outcome, _) in first.items() if outcome == "skipped"]
    gained = sum(_passes(second, name) for name in skipped)
    either = sum(_passes(first, name) or _passes(second, name) for name in {**first, **second})
    print(
        f"\nskipped as an interpreter: {len(skipped)}; of those pass on the other paths: {gained}"
    )
    print(f"passed in one of the two: {either} of {len({**first, **second})}")


def _passes(cases: Cases, name: str) -> bool:
    return cases.get(name, ("", ""))[0] == "passed"


def _print_loss(results: dict[str, Any]) -> None:
    """What Triton passes on this device and we do not."""
    theirs, ours = results["triton"]["cases"], results["gpu"]["cases"]
    passed = [name for name in theirs if _passes(theirs, name)]
    lost = [name for name in passed if not _passes(ours, name)]
    share = 100 * (len(passed) - len(lost)) / max(len(passed), 1)
    print(
        f"\nof {len(passed)} that Triton passes we pass {len(passed) - len(lost)} ({share:.2f} %)"
    )
    kinds = Counter(map(_function, lost))
    for name, count in kinds.most_common(60):
        print(f"  {count:6}  {name}")
    results["lost"] = {"cases": {}, "totals": {"failed": 0}, "by_test": dict(kinds)}


def _environment() -> dict[str, Any]:
    packages: dict[str, str | None] = {}
    for name in ("blockstep", "numpy", "ml_dtypes", "torch", "pytest"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "packages": packages,
    }


if __name__ == "__main__":
    sys.exit(main())
