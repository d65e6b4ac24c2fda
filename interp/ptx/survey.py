"""What is true of a whole kernel, found by looking at its statements once."""

from __future__ import annotations

from collections.abc import Sequence

from blockstep.interp.ptx import flow
from blockstep.interp.ptx.isa.registry import WIDTH, Instruction
from blockstep.interp.ptx.syntax import Address, Immediate, Register, Statement

_WIDEST = 16
_LOADS = ("ld", "atom", "shfl")


def granule(statements: Sequence[Statement]) -> int:
    """The least width in bytes of an access that may go to shared memory."""
    return min([_WIDEST, *[_width(s.instruction) for s in statements]])


def _width(i: Instruction) -> int:
    spaces = {m.split("::")[0] for m in i.modifiers}
    if i.opcode in ("ld", "st", "atom", "red"):
        if spaces & {"global", "local", "param", "const"} or not i.types:
            return _WIDEST
        bits = WIDTH[i.types[-1]] // 8
        return bits * {"v2": 2, "v4": 4, "v8": 8}.get(
            next(iter(spaces & {"v2", "v4", "v8"}), ""), 1
        )
    if i.opcode == "cp" and "async" in i.modifiers and "bulk" not in i.modifiers:
        sizes = [o.value for o in i.operands if isinstance(o, Immediate)]
        return min([_WIDEST, *sizes[:1]]) if len(i.operands) > 2 else _WIDEST
    return 4 if i.opcode == "tensormap" and "replace" in i.modifiers else _WIDEST


def polls(statements: Sequence[Statement]) -> bool:
    """Whether the kernel may wait for other CTAs: it looks at memory that others may write."""
    return any(_polls(s.instruction) for s in statements)


def _polls(i: Instruction) -> bool:
    if i.opcode == "atom":
        return bool({"cas", "exch", "acquire", "acq_rel"} & set(i.modifiers))
    return i.opcode == "ld" and bool({"acquire", "volatile", "relaxed", "mmio"} & set(i.modifiers))


def partial_barriers(statements: Sequence[Statement]) -> bool:
    """Whether threads are ordered by more than barriers of all threads of their CTA."""
    return any(_partial(s.instruction) for s in statements)


def _partial(i: Instruction) -> bool:
    if i.opcode in ("mbarrier", "mapa"):
        return True
    if i.opcode not in ("bar", "barrier") or "warp" in i.modifiers or "cluster" in i.modifiers:
        return False
    at = 1 if "red" in i.modifiers else 0
    number = i.operands[at] if len(i.operands) > at else Immediate(0)
    return "arrive" in i.modifiers or number != Immediate(0)


def by_order(statements: Sequence[Statement]) -> bool:
    """Whether races have to be judged by happens-before: barriers of whole CTAs are not all that
    orders accesses of shared memory."""
    return any(_partial(s.instruction) or _own_way(s.instruction) for s in statements)


def _own_way(i: Instruction) -> bool:
    """Of the copy engine, and between CTAs of a cluster."""
    return (
        i.opcode == "cp"
        and "bulk" in i.modifiers
        or (i.opcode in ("bar", "barrier") and "cluster" in i.modifiers)
    )


def bulk_writes(statements: Sequence[Statement]) -> bool:
    """Whether the copy engine writes global memory."""
    return any(
        s.instruction.opcode == "cp"
        and {"bulk", "global", "bulk_group"} <= set(s.instruction.modifiers)
        for s in statements
    )


def products(statements: Sequence[Statement]) -> bool:
    """Whether wgmma reads shared memory."""
    return any(s.instruction.opcode == "wgmma" for s in statements)


def follows_tables(statements: Sequence[Statement]) -> bool:
    """Whether an address may come from memory: then the host may have put any there."""
    tainted: set[Register] = set()
    before = -1
    while len(tainted) != before:
        before = len(tainted)
        for s in statements:
            if _loads_an_address(s.instruction) or (
                s.instruction.opcode != "ld" and not tainted.isdisjoint(flow.read(s))
            ):
                tainted.update(flow.written(s))
    return any(
        (o.base if isinstance(o, Address) else s.instruction.opcode == "tensormap" and o) in tainted
        for s in statements
        for o in s.instruction.operands
    )


def _loads_an_address(i: Instruction) -> bool:
    wide = bool(i.types) and WIDTH.get(i.types[-1], 0) == 64
    return i.opcode in _LOADS and wide and "param" not in i.modifiers
