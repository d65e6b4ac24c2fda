"""The PTX that Triton makes, run on the ptx machine and compared with the meaning of the source.

    python benchmarks/triton_ptx.py --triton PYTHON --tutorials FOLDER [--only TEXT] [--json FILE]

PYTHON is an interpreter that has Triton, FOLDER the `python/tutorials` of a checkout of it. Neither
needs a GPU. Every case is compiled for sm_90 and sm_80 with several numbers of warps and stages, run
with all checkers of the machine, and held to the derived bound (`blockstep verify --compiler triton`
does the same to a script). What Triton's own compiler refuses is listed as refused.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ["IMPL"] = "blockstep"  # whose language `kernels.py` is written in
import numpy as np

from blockstep.language import frames
from blockstep.runtime import redirect
from blockstep.runtime.foreign import Triton
from blockstep.runtime.ladder import Launch, climb, take
from blockstep.runtime.ladder.outcome import Outcome, Status
from blockstep.runtime.ladder.telling import line
from blockstep.runtime.ladder.triton import TritonPtx

SEED = 1
REFUSED = "RefusedByTriton"


@dataclass(frozen=True, slots=True)
class Result:
    """One launch. `verdict` is equal, within, undecided, not judged, differs, refused or not run."""

    case: str
    kernel: str
    target: str
    num_warps: int
    num_stages: int
    verdict: str
    ulps: float
    within: int
    seconds: float
    text: str


def results(case: Any, triton: Triton) -> Iterator[Result]:
    """A case with every target and option, each held to one run of the source."""
    args = case.make(np.random.default_rng(SEED))
    launch = take(case.kernel, args, dict(case.constants), case.grid, frames.user_site(0).span)
    asked = [(t, w, s) for w, s in case.options for t in case.targets]
    while asked:
        rungs = [_rung(triton, launch, *one) for one in asked]
        outcomes = climb(launch, rungs, ours=False).outcomes
        if len(outcomes) == 1:
            raise RuntimeError(f"{case.name}: the source does not run: {outcomes[0].text}")
        for (target, warps, stages), one in zip(asked, outcomes[1:], strict=False):
            yield Result(
                case.name, launch.kernel, target, warps, stages, _verdict(one), one.ulps,
                one.within, round(one.seconds, 3), line(one),
            )  # fmt: skip
        del asked[: len(outcomes) - 1]  # one that differs is the last of its climb


def _rung(triton: Triton, launch: Launch, target: str, warps: int, stages: int) -> TritonPtx:
    told = {**launch.told, "arch": target, "num_warps": warps}
    if "num_stages" not in launch.bound.by_name:
        told["num_stages"] = stages
    return TritonPtx(triton, f"{target}, {warps} warps, {stages} stages", told)


def _verdict(outcome: Outcome) -> str:
    if outcome.status is Status.NOT_RUN and REFUSED in outcome.text:
        return "refused"
    return outcome.status.value


def main() -> int:
    """Exit status 1 where something differs or did not run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--triton", metavar="PYTHON", help="an interpreter that has Triton")
    parser.add_argument("--tutorials", type=Path, help="python/tutorials of a checkout")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--json", type=Path)
    told = parser.parse_args()
    redirect.install(False)
    triton = Triton(told.triton)
    found = []
    for case in _chosen(told):
        for one in results(case, triton):
            found.append(one)
            options = f"{one.target} {one.num_warps} {one.num_stages}"
            print(f"{one.case:60} {options}  {one.text}", flush=True)
    counts = collections.Counter(one.verdict for one in found)
    print(", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    if told.json:
        data = {"triton": triton.version, "counts": counts, "launches": [asdict(r) for r in found]}
        told.json.write_text(json.dumps(data, indent=1) + "\n")
    return int(bool(counts["differs"] or counts["not run"]))


def _chosen(told: argparse.Namespace) -> Iterator[Any]:
    import triton_cases
    import triton_tutorials

    cases = [*triton_cases.anchor_cases()]
    if told.tutorials:
        cases += triton_tutorials.tutorial_cases(told.tutorials)
    return (case for case in cases if told.only in case.name)


if __name__ == "__main__":
    sys.exit(main())
