"""Sends a fuzzed kernel up the ladder: how it is launched, and what came of it in a few words.

The launch options (architecture, `num_warps`, `num_stages`) and the size of blocks follow from the
number of the case, so a case is still a function of its number.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from blockstep.errors import TritonError
from blockstep.runtime.ladder import Climb, Status, verify
from tests.agreement.agree import Empty
from tests.fuzz.case import Case, loaded
from tests.fuzz.generate import Generator

ARCHITECTURES = ("sm80", "sm90", "sm90")
WARPS = (1, 2, 4, 4, 8)
FOUND = Path(__file__).parent / "climbed"  # what ever failed: scripts that must agree
FINDINGS = ("disagrees", "crash", "too long", "killed")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`name`: agrees, undecided (some element), not judged (a rung), left out (a rung did not run),
    refused (the source itself fails), or one of FINDINGS. `reason` says why in a few words that
    cases share, `text` in full; `seconds` are of one core."""

    name: str
    reason: str = ""
    text: str = ""
    seconds: float = 0.0
    rungs: Counter[str] = field(default_factory=Counter)  # "ptx: equal", ...


def case_of(number: int) -> Case:
    """The case of a number, with its launch options."""
    random = Random(f"ladder {number}")
    options = {
        "arch": random.choice(ARCHITECTURES), "num_warps": random.choice(WARPS),
        "num_stages": random.randint(1, 4),
    }  # fmt: skip
    made = Generator(Random(number), large=random.random() < 0.4).case()
    return replace(made, launch=tuple(options.items()))


def climbed(case: Case) -> Climb:
    """The case's launch on every rung. Raises what the language refuses."""
    names = loaded(case.script())
    try:
        with np.errstate(all="ignore"):
            given = [written(a) for a in names["arguments"]()]
            return verify(names["kernel"], given, grid=names["GRID"], **names["LAUNCH"])
    finally:
        names["__forget__"]()


def written(argument: Any) -> Any:
    """What stands for memory that nobody has written: zeros, the same on every rung."""
    return np.zeros(argument.shape, argument.dtype) if isinstance(argument, Empty) else argument


def verdict(case: Case) -> Verdict:
    """What came of a case. It raises nothing that a case can cause but running out of time."""
    started = time.process_time()
    try:
        found = judged(climbed(case))
    except TritonError as error:
        found = Verdict("refused", type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001  (whatever it is, the case found it)
        found = Verdict("crash", crash_of(error), traceback.format_exc())
    return replace(found, seconds=time.process_time() - started)


def crash_of(error: Exception) -> str:
    """The exception and where it was raised."""
    places = traceback.extract_tb(error.__traceback__)
    place = f" in {Path(places[-1].filename).name}:{places[-1].name}" if places else ""
    return f"{type(error).__name__}{place}"


def judged(climb: Climb) -> Verdict:
    """A climb in a few words."""
    rungs = Counter(f"{o.rung}: {o.status.value}" for o in climb.outcomes)
    name, reason, text = _named(climb)
    return Verdict(name, reason, text, rungs=rungs)


def _named(climb: Climb) -> tuple[str, str, str]:
    if climb.disagrees:
        return "disagrees", symptom(climb), f"{climb}\n{_messages(climb)}"
    first = climb.outcomes[0]
    if first.status is Status.NOT_RUN:
        return "refused", short(first.text), first.text
    for status, name in ((Status.UNJUDGED, "not judged"), (Status.NOT_RUN, "left out")):
        for one in climb.outcomes:
            if one.status is status and one.text != "no GPU":
                if one.text.startswith("the source has an error"):
                    return "refused", one.text.split(": ")[1], one.text
                return name, f"{one.rung}: {short(one.text)}", one.text
    if any(o.status is Status.UNDECIDED for o in climb.outcomes):
        return "undecided", "", ""
    return "agrees", "", ""


def symptom(climb: Climb) -> str:
    """What two cases that differ alike have in common; empty where nothing differs."""
    wrong = climb.first_wrong
    if wrong is None:
        return "touches other memory" if climb.disagrees else ""
    kinds = sorted({f.kind for f in wrong.faults}) or ["memory" if wrong.beyond else "bits"]
    return f"{wrong.rung}: {', '.join(kinds)}"


def _messages(climb: Climb) -> str:
    return "\n".join(f"{f.kind}: {f.message}" for f in climb.findings)


def short(text: str) -> str:
    """A reason without what differs from case to case: numbers and names in ticks."""
    words = ["…" if "`" in w or any(c.isdigit() for c in w) else w for w in text.split()]
    return " ".join(words)[:90]


__all__ = ["FINDINGS", "FOUND", "Verdict", "case_of", "climbed", "symptom", "verdict", "written"]
