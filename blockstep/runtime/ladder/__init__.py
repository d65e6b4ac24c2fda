"""The ladder: one launch on every machine and after every pass, and the first that differs."""

from blockstep.runtime.ladder.climb import climb
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.ladder.outcome import Climb, Mismatch, Outcome, Status
from blockstep.runtime.ladder.rung import Broken, Fault, NotRun, Ran, Rule, Rung
from blockstep.runtime.ladder.telling import climb_json, summary
from blockstep.runtime.ladder.verifier import Verifier, verify

__all__ = [
    "Broken",
    "Climb",
    "Fault",
    "Launch",
    "Mismatch",
    "NotRun",
    "Outcome",
    "Ran",
    "Rule",
    "Rung",
    "Status",
    "Verifier",
    "climb",
    "climb_json",
    "summary",
    "take",
    "verify",
]
