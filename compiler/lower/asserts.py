"""`device_assert`: the first lane that fails writes the fault record, and the CTA ends.

It does not trap, which would make the caller's CUDA context unusable. All lanes of the CTA end
together: whether one has failed is asked of all of them, so that no barrier waits for lanes that are
gone. The flag is won by one lane of the launch; the others leave the record as it is.
"""

from __future__ import annotations

from blockstep.compiler.faults import RECORD
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.creation import program_coordinate
from blockstep.findings import Span
from blockstep.ir import Layout, Operation, Value


@lowers("assert")
def _assert(lw: Lowering, operation: Operation) -> None:
    told = lw.named(operation, "condition", "mask")
    condition = told["condition"]
    assert condition is not None
    failed = _failed(lw, condition, told["mask"])
    layout = condition.layout
    lane, element = failed[0], "-1"
    if isinstance(layout, Layout):
        lane, element = _first(lw, failed, layout)
    ends = lane if layout is None else _anybody(lw, lane)
    stop, go = lw.b.name("fails"), lw.b.name("holds")
    lw.b.choose(ends, stop, go)
    lw.b.label(stop)
    lanes.guarded(lw, lane, lambda: _record(lw, operation, element))
    lw.b.effect("ret void")
    lw.b.label(go)


def _failed(lw: Lowering, condition: Value, mask: Value | None) -> list[str]:
    """For each element of the lane, whether it breaks the assertion: an i1."""
    found = [lw.b.value(f"xor i1 {part}, true") for part in lw.parts(lw[condition])]
    if mask is None:
        return found
    kept = lw.parts(lw[mask])
    return [lw.b.value(f"and i1 {a}, {b}") for a, b in zip(found, kept, strict=True)]


def _first(lw: Lowering, failed: list[str], layout: Layout) -> tuple[str, str]:
    """Whether the lane fails, and the element of its first register that does."""
    base = lw.base(layout)
    lane, element = "false", "-1"
    for register in reversed(range(len(failed))):
        constant = layout.element(register, 0, 0)
        flat = lw.b.value(f"xor i32 {base}, {constant}")
        element = lw.b.value(f"select i1 {failed[register]}, i32 {flat}, i32 {element}")
        lane = lw.b.value(f"or i1 {lane}, {failed[register]}")
    return lane, element


def _anybody(lw: Lowering, lane: str) -> str:
    """Whether a condition holds for any lane of the CTA: an i1 that all agree on."""
    if lw.options.num_warps == 1:
        return lw.b.call("i1", "llvm.nvvm.vote.any.sync", ["i32 -1", f"i1 {lane}"], "#1")
    name = "llvm.nvvm.barrier.cta.red.or.aligned.all"
    return lw.b.call("i1", name, ["i32 0", f"i1 {lane}"], "#1")


def _record(lw: Lowering, operation: Operation, element: str) -> None:
    """Writes the record if no lane has before."""
    span = operation.location.span if operation.location is not None else Span("", 0)
    lw.sites.append((str(operation.attributes["message"]), span))
    flag = lw.b.asm(
        "i32", "atom.relaxed.sys.global.cas.b32 $0, [$1], 0, 1;", "=r,l,~{memory}",
        [f"i64 {lw.faults}"],
    )  # fmt: skip
    won = lw.b.value(f"icmp eq i32 {flag}, 0")
    lanes.guarded(lw, won, lambda: _fields(lw, element))


def _fields(lw: Lowering, element: str) -> None:
    values = {
        "site": str(len(lw.sites) - 1),
        **{name: program_coordinate(lw, axis) for axis, name in enumerate("xyz")},
        "element": element,
    }
    for place, name in enumerate(RECORD):
        if name in values:
            lw.b.asm(
                "void", f"st.relaxed.sys.global.b32 [$0+{4 * place}], $1;", "l,r,~{memory}",
                [f"i64 {lw.faults}", f"i32 {values[name]}"],
            )  # fmt: skip
    lw.b.asm("void", "fence.acq_rel.sys;", "~{memory}", [])
