"""How often our front end and Triton's own agree, over the jit functions of published libraries.

    python benchmarks/corpus.py FOLDER --triton-python PYTHON [--sample N] [--jobs N] [--json FILE]

FOLDER has one folder for each wheel, with the wheel unpacked in it (its `*.py` and `*.dist-info`
are enough). Both front ends get the same functions with the same argument types, guessed from names
and use (`corpus_guess.py`), each twice: with boolean constants True and optional arguments given,
and with False and None. The two interpreters should have the same other packages (PyTorch above
all), so that as much of each library loads on both sides. Printed: of what Triton accepts, how much
we accept; what we refuse, by reason; what we accept and Triton does not.
"""

from __future__ import annotations

import argparse
import ast
import collections
import importlib.metadata
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SILENCE = 90  # seconds without an answer
NEWER = ("cat() got an unexpected keyword argument 'dim'",)
"""What Triton 3.6 rejects because a later version added it, and this package has it."""


def collect(folder: Path) -> list[dict[str, Any]]:
    """Every function with a `jit` decorator that loading its module defines: at its top level, in
    its `if` and `try` statements and in its classes."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text())
        except (SyntaxError, UnicodeDecodeError):
            continue
        for name in dict.fromkeys(_named(tree)):
            found += [{"file": str(path), "name": name, "truth": t} for t in (True, False)]
    return found


def _named(node: ast.AST, prefix: str = "") -> Iterator[str]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef):
            if any(_is_jit(d) for d in inner.decorator_list):
                yield prefix + inner.name
        elif isinstance(inner, ast.ClassDef):
            yield from _named(inner, f"{prefix}{inner.name}.")
        elif isinstance(inner, (ast.If, ast.Try, ast.ExceptHandler)):
            yield from _named(inner, prefix)


def _is_jit(node: ast.expr) -> bool:
    text = ast.unparse(node.func if isinstance(node, ast.Call) else node)
    return text == "jit" or (text.endswith(".jit") and text.startswith(("triton", "tl")))


def ask_all(
    side: str, python: str, folder: Path, wanted: list[dict[str, Any]], jobs: int
) -> list[Any]:
    """Answers in order, from so many compilers at once."""
    size = max(1, -(-len(wanted) // jobs))
    parts = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    with ThreadPoolExecutor(jobs) as pool:
        answers = pool.map(lambda part: ask(side, python, folder, part), parts)
        return [answer for part in answers for answer in part]


def ask(side: str, python: str, folder: Path, wanted: list[dict[str, Any]]) -> list[Any]:
    """Answers in order; a compiler that dies on a function is started again after it."""
    answers: list[Any] = []
    while len(answers) < len(wanted):
        answers += _ask_once(side, python, folder, wanted[len(answers) :])
        if len(answers) < len(wanted):
            answers.append({**wanted[len(answers)], "ok": None, "why": "the compiler died"})
    return answers


def _ask_once(side: str, python: str, folder: Path, wanted: list[dict[str, Any]]) -> list[Any]:
    """Answers until the compiler ends or falls silent. Libraries write files where they are loaded:
    that is a folder of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        return _answers(side, _start(side, python, folder, scratch), wanted)


def _start(side: str, python: str, folder: Path, scratch: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, str(HERE / "corpus_child.py"), side, str(folder)], cwd=scratch,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def _answers(
    side: str, child: subprocess.Popen[str], wanted: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    assert child.stdin is not None and child.stdout is not None
    feeding = threading.Thread(target=_feed, args=(child.stdin, wanted))
    feeding.start()
    answers = []
    while len(answers) < len(wanted):
        guard = threading.Timer(SILENCE, child.kill)
        guard.start()
        line = child.stdout.readline()
        guard.cancel()
        if not line:
            break
        answers.append(json.loads(line))
        if len(answers) % 200 == 0:
            print(f"{side}: {len(answers)} of {len(wanted)}", file=sys.stderr)
    child.kill()
    child.wait()
    feeding.join()
    return answers


def _feed(pipe: Any, wanted: list[dict[str, Any]]) -> None:
    try:
        for one in wanted:
            pipe.write(json.dumps(one) + "\n")
        pipe.close()
    except (BrokenPipeError, OSError):
        pass


def compare(ours: list[Any], theirs: list[Any]) -> dict[str, Any]:
    """The counts, and the functions that the two judge differently."""
    refused, extra, newer, unjudged = [], [], [], []
    counts: collections.Counter[str] = collections.Counter()
    for mine, other in zip(ours, theirs, strict=True):
        if any(a["ok"] is None or a["why"].startswith("TimeoutError") for a in (mine, other)):
            counts["not judged"] += 1
            unjudged.append(mine if mine["ok"] is None else other)
            continue
        if mine.get("guess") != other.get("guess"):
            counts["loaded differently"] += 1
            unjudged.append({**mine, "why": "loaded differently"})
            continue
        if mine["ok"] and not other["ok"] and any(text in other["why"] for text in NEWER):
            counts["Triton 3.6 rejects a later version's feature, blockstep accepts"] += 1
            newer.append({**mine, "why": other["why"]})
            continue
        counts[f"Triton {_word(other)}, blockstep {_word(mine)}"] += 1
        if other["ok"] and not mine["ok"]:
            refused.append(mine)
        elif mine["ok"] and not other["ok"]:
            extra.append({**mine, "why": other["why"]})
    both = counts["Triton accepts, blockstep accepts"]
    accepted = both + counts["Triton accepts, blockstep rejects"]
    return {
        "functions": len({(a["file"], a["name"]) for a in ours}),
        "counts": dict(counts),
        "accepted": round(both / accepted, 4) if accepted else None,
        "refused": refused,
        "extra": extra,
        "newer": newer,
        "unjudged": unjudged,
    }


def wheels(folder: Path, ours: list[Any], theirs: list[Any]) -> dict[str, dict[str, Any]]:
    """For each wheel its version, its functions, and those of them that Triton accepts with at
    least one of the guessed signatures."""
    found = {}
    for root in sorted(p for p in folder.iterdir() if p.is_dir()):
        inside = f"{root}/"
        told = [p.stem.rsplit("-", 1)[1] for p in root.glob("*.dist-info")]
        both = [(m, t) for m, t in zip(ours, theirs, strict=True) if m["file"].startswith(inside)]
        if not both:
            continue
        found[root.name] = {
            "version": next(iter(told), "unknown"),
            "functions": len({(m["file"], m["name"]) for m, _ in both}),
            "Triton accepts": len({(t["file"], t["name"]) for _, t in both if t["ok"]}),
            "blockstep accepts": len(
                {(m["file"], m["name"]) for m, t in both if m["ok"] and t["ok"]}
            ),
        }
    return found


def seconds(answers: list[Any]) -> dict[str, float]:
    """How long our front end takes for a function that it accepts."""
    taken = sorted(a["seconds"] for a in answers if a["ok"])
    if not taken:
        return {}
    return {"median": statistics.median(taken), "p99": taken[int(0.99 * (len(taken) - 1))]}


def environment(triton_python: str) -> dict[str, Any]:
    """What the result depends on."""
    ask = "import importlib.metadata as m; print(m.version('triton'))"
    told = subprocess.run([triton_python, "-c", ask], capture_output=True, text=True, check=True)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "numpy": importlib.metadata.version("numpy"),
        "triton": told.stdout.strip(),
    }


def _word(answer: dict[str, Any]) -> str:
    return "accepts" if answer["ok"] else "rejects"


def reasons(found: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Grouped by message, names and numbers left out."""
    groups: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for one in found:
        plain = re.sub(r" \[[^]]*:\d+\]$", "", one["why"])
        groups[re.sub(r"\d+|`[^`]*`|'[^']*'", "_", plain)[:110]].append(one)
    return sorted(groups.items(), key=lambda item: -len(item[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--triton-python", required=True, help="an interpreter with triton 3.6")
    parser.add_argument("--sample", type=int, help="this many functions, chosen by --seed")
    parser.add_argument("--jobs", type=int, default=1, help="compilers of a side at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--theirs", type=Path, help="keep Triton's answers here, and reuse them")
    parser.add_argument("--json", type=Path)
    told = parser.parse_args()
    folder = told.folder.resolve()
    wanted = collect(folder)
    if told.sample:
        names = sorted({(w["file"], w["name"]) for w in wanted})
        kept = set(random.Random(told.seed).sample(names, min(told.sample, len(names))))
        wanted = [w for w in wanted if (w["file"], w["name"]) in kept]
    theirs = _kept(told, wanted)
    ours = ask_all("blockstep", sys.executable, folder, wanted, told.jobs)
    result = {
        "environment": environment(told.triton_python),
        "wheels": wheels(folder, ours, theirs),
        "seconds": seconds(ours),
        **compare(ours, theirs),
    }
    _print(result)
    if told.json:
        told.json.write_text(json.dumps(result, indent=1).replace(f"{folder}/", "") + "\n")


def _kept(told: Any, wanted: list[dict[str, Any]]) -> list[Any]:
    known: dict[str, Any] = {}
    if told.theirs and told.theirs.exists():
        known = {_key(a): a for a in map(json.loads, told.theirs.read_text().splitlines())}
    missing = [w for w in wanted if _key(w) not in known]
    folder = told.folder.resolve()
    for found in ask_all("triton", told.triton_python, folder, missing, told.jobs):
        known[_key(found)] = found
    if told.theirs:
        told.theirs.write_text("".join(json.dumps(a) + "\n" for a in known.values()))
    return [known[_key(w)] for w in wanted]


def _key(one: dict[str, Any]) -> str:
    return f"{one['file']}:{one['name']}:{one['truth']}"


def _print(result: dict[str, Any]) -> None:
    print(f"{result['functions']} functions; of what Triton accepts: {result['accepted']}")
    for name, about in result["wheels"].items():
        print("  ", name, *(f"{about[key]} {key}" for key in about))
    for text, count in sorted(result["counts"].items()):
        print(f"  {count:6} {text}")
    for title in ("refused", "extra", "newer", "unjudged"):
        print(f"\n{title}:")
        for why, group in reasons(result[title]):
            first = group[0]
            print(f"  {len(group):4} {why}\n       {first['file']} {first['name']}")


if __name__ == "__main__":
    main()
