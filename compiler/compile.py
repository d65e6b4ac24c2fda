"""A kernel from block IR to PTX: passes, placement, lowering, emission, in the order listed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from blockstep.compiler import passes
from blockstep.compiler.analysis import Hint
from blockstep.compiler.emit import emit
from blockstep.compiler.lower import Module, Options, lower
from blockstep.compiler.passes.barriers import Barriers
from blockstep.compiler.passes.boxes import Engine
from blockstep.compiler.passes.descriptors import Descriptors
from blockstep.compiler.passes.flight import Flight
from blockstep.compiler.passes.inline import Inline
from blockstep.compiler.passes.pipeline import Pipeline
from blockstep.compiler.passes.products import Products
from blockstep.compiler.passes.promises import Promises
from blockstep.compiler.passes.stores import Stores
from blockstep.compiler.placement import Place
from blockstep.ir import Function, verify


@dataclass(frozen=True, eq=False, slots=True)
class Compiled:
    """One kernel's PTX, what a launch must know of it, and the stages on the way."""

    module: Module
    ptx: str
    placed: Function
    stages: Mapping[str, str] = field(default_factory=dict, repr=False)


Watch = Callable[[str, Function], None]
"""Told the name of each pass that ran, and the function after it."""


def place(
    function: Function,
    options: Options,
    hints: Mapping[str, Hint],
    watch: Watch | None = None,
    until: str | None = None,
) -> Function:
    """Placed IR of a function as the front end made it, which is left as it is; `until` names the
    last pass to run (`count_until` says how)."""
    made = function.clone()
    told = watch or _nobody
    told("frontend", made)
    for one in pipeline(options, hints)[: None if until is None else count_until(until)]:
        passes.apply(one, made)
        told(one.name, made)
    verify(made)
    return made


def count_until(name: str) -> int:
    """How many passes run until one has: `dce` is the last of that name, `dce:1` the first;
    `frontend` comes before all. Raises ValueError for a name that no pass has."""
    names = [one.name for one in pipeline(Options(), {})]
    if name == "frontend":
        return 0
    base, _, number = name.partition(":")
    places = [place for place, other in enumerate(names, 1) if other == base]
    wanted = number or str(len(places))
    if base not in names or not wanted.isdigit() or not 1 <= int(wanted) <= len(places):
        known = ", ".join(numbered(names))
        raise ValueError(f"no pass is called {name!r}; there are frontend, {known}")
    return places[int(wanted) - 1]


def numbered(names: list[str]) -> list[str]:
    """The names of passes in order; of those that come several times with their number: `cse:2`."""
    return [
        f"{name}:{names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def pipeline(options: Options, hints: Mapping[str, Hint]) -> list[passes.Pass]:
    """The passes, in order."""
    return [one for one, _ in reasons(options, hints)]


def reasons(options: Options, hints: Mapping[str, Hint]) -> list[tuple[passes.Pass, str]]:
    """The passes, in order, and why each stands where it does."""
    place = Place(options.num_warps, options.capability, options.num_ctas, hints)
    return [
        (Inline(), "first: nothing after it has to know about calls"),
        (Promises(), "while uses stand in the order of the source, which says what is promised"),
        (Descriptors(), "before the others: a stride of 1 makes index arithmetic vanish"),
        (Products(options.capability), "before the others: what it writes is simplified as well"),
        *passes.PIPELINE,
        (Engine(hints, options.capability), "before layouts copy pointers; constants are known"),
        (place, "when the IR is small: each block that is left gets one layout, or a few"),
        (
            Stores(hints, options.capability),
            "knows by the layouts which blocks change hands; what it writes no copy runs ahead of",
        ),
        (Flight(), "knows by the layouts which products read shared memory"),
        (
            Pipeline(options.num_stages, options.capability),
            "after flight: it sees which sums may stay in flight from one iteration to the next",
        ),
        (passes.CSE(), "addresses that were computed ahead once more, and constants of slots"),
        (passes.DCE(), "the addresses and masks of loads that have become copies"),
        (Barriers(), "last: nothing may move an access past a barrier afterwards"),
    ]


def _nobody(name: str, function: Function) -> None:
    return None


def compile_function(function: Function, options: Options, hints: Mapping[str, Hint]) -> Compiled:
    """PTX of a function as the front end made it. Raises UnsupportedError for what has no
    lowering, with the line."""
    placed = place(function, options, hints)
    module = lower(placed, options)
    ptx = emit(module.text, options.target, exact=options.exact)
    return Compiled(module, ptx, placed)


__all__ = [
    "Compiled", "compile_function", "count_until", "numbered", "pipeline", "place", "reasons",
]  # fmt: skip
