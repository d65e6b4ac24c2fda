"""Fuzzes the machines against each other: `python benchmarks/fuzz.py 20000 --state fuzz.json`.

A case is a function of its number, so a campaign that was stopped goes on where it was. What
disagrees is shrunk to a script under tests/fuzz/found; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fuzz.campaign import Campaign


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=1000, help="how many in all")
    parser.add_argument("--state", type=Path, help="where it stands; read first, then written")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--passes", action="store_true", help="also after each compiler pass")
    chosen = parser.parse_args()
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
