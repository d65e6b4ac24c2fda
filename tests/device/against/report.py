"""Compares what two runs saved and writes a JSON report.

python -m tests.device.against.report REPORT.json --seed 7 --ours A.npz … --theirs B.npz …
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.device.against import run
from tests.device.against.case import Case
from tests.device.against.compare import Outcome, judge, load


def outcome(case: Case, seed: int, ours: dict[str, bytes], theirs: dict[str, bytes]) -> Outcome:
    """Both results of a case, or which of the two did not compile it."""
    refusals = {
        who: held.get(f"!{case.key}", None if f"0!{case.key}" in held else b"no such function")
        for who, held in (("ours", ours), ("theirs", theirs))
    }
    if any(text is not None for text in refusals.values()):
        words = "; ".join(f"{who}: {text.decode(errors='replace')}"
                          for who, text in refusals.items() if text is not None)  # fmt: skip
        fault = refusals["theirs"] is None and case.rule != "recorded"
        return Outcome(case.key, case.rule, case.limit, refused=words, wrong=int(fault))
    count = sum(buffer.compared for buffer in case.buffers)
    names = [f"{number}!{case.key}" for number in range(count)]
    return judge(case, run.fills(case, seed), [ours[n] for n in names], [theirs[n] for n in names])


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """Counts for each group."""
    table: dict[str, dict[str, int]] = {}
    for one in outcomes:
        row = table.setdefault(
            one.key.split("/")[0],
            dict.fromkeys(
                ("cases", "equal", "refused", "elements", "differing", "flushed", "wrong"), 0
            ),
        )
        row["cases"] += 1
        row["refused"] += bool(one.refused)
        row["equal"] += not one.differing and not one.refused
        for name in ("elements", "differing", "flushed", "wrong"):
            row[name] += getattr(one, name)
    return table


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ours", type=Path, nargs="+")
    parser.add_argument("--theirs", type=Path, nargs="+")
    parser.add_argument("--only", default="")
    told = parser.parse_args(words)
    ours, theirs = load(told.ours), load(told.theirs)
    outcomes = [outcome(case, told.seed, ours, theirs) for case in run.cases(told.only)]
    noted = [o for o in outcomes if o.differing or o.refused]
    report = {
        "seed": told.seed,
        "groups": summary(outcomes),
        "ulps": {o.key: o.ulps for o in outcomes if o.ulps},
        "cases": [dataclasses.asdict(o) for o in noted],
        "equal": [o.key for o in outcomes if not o.differing and not o.refused],
    }
    told.report.write_text(json.dumps(report, indent=1))
    for group, row in report["groups"].items():
        print(group, row)
    return int(any(o.wrong for o in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
