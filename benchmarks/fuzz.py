"""Fuzzes the machines against each other: `python benchmarks/fuzz.py 20000 --state fuzz.json`.

A case is a function of its number, so a campaign that was stopped goes on where it was. What
disagrees is shrunk to a script under tests/fuzz/found; the exit status is then 1.

With `--ladder` each kernel climbs every rung instead, to the device where there is one, in `--jobs`
processes; what disagrees, crashes or hangs becomes a script in the folder `--into`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each process has one core


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=1000, help="how many in all")
    parser.add_argument("--state", type=Path, help="where it stands; read first, then written")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--passes", action="store_true", help="also after each compiler pass")
    parser.add_argument("--ladder", action="store_true", help="every kernel on every rung")
    parser.add_argument("--jobs", type=int, default=1, help="processes (with --ladder)")
    parser.add_argument("--into", type=Path, help="folder for scripts (with --ladder)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one kernel")
    chosen = parser.parse_args()
    return _ladder(chosen) if chosen.ladder else _machines(chosen)


def _ladder(chosen: Any) -> int:
    from tests.fuzz.climbing import FOUND
    from tests.fuzz.ladder import Campaign, State

    state = State.resumed(chosen.state, chosen.first)
    campaign = Campaign(
        state, chosen.state, chosen.into or FOUND, max(chosen.jobs, 1), chosen.limit
    )
    campaign.go(chosen.cases, chosen.seconds)
    for found in state.findings:
        print(f"case {found['number']} {found['verdict']}: {found['symptom']}")
    return 1 if state.findings else 0


def _machines(chosen: Any) -> int:
    from tests.fuzz.campaign import Campaign

    campaign = Campaign.resumed(chosen.state, chosen.passes)
    campaign.done = max(campaign.done, chosen.first)
    started = time.monotonic()
    campaign.go(chosen.cases, chosen.state, chosen.seconds)
    if chosen.state is not None:
        campaign.save(chosen.state)
    print(f"{campaign.done} cases, {time.monotonic() - started:.0f} s now: {dict(campaign.counts)}")
    for number, kind in campaign.failures.items():
        print(f"case {number}: {kind}")
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
