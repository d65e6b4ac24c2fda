"""Loads, stores, addresses of state spaces, prefetches.

Cache operators, eviction hints and scopes change nothing here: memory is sequentially consistent,
and an instruction of all threads is done before the next one begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.frame import Bits, Frame, Mask
from blockstep.interp.ptx.isa.mbarriers import Mbarriers, located
from blockstep.interp.ptx.isa.registry import WIDTH, Instruction, unsigned
from blockstep.interp.ptx.memory import WINDOWS, item

SPACES = {
    "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared",
    "shared::cluster": "shared", "local": "local", "param": "param", "param::entry": "param",
}  # fmt: skip
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_ORDER = frozenset({"volatile", "relaxed", "acquire", "release", "weak", "mmio"})
_SCOPES = frozenset({"cta", "cluster", "gpu", "sys"})
_CACHE = frozenset({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"})


def known(i: Instruction, d: Decoder, extra: frozenset[str] = frozenset()) -> tuple[str, int, str]:
    """The space, the length of the vector, and the type; other modifiers must be without effect."""
    space, count, type = "generic", 1, ""
    for m in i.modifiers:
        if m in SPACES:
            space = SPACES[m]
        elif m in _VECTORS:
            count = _VECTORS[m]
        elif m in WIDTH:
            type = m
        elif not (
            m in _ORDER | _SCOPES | _CACHE | extra or m.startswith(("L1::", "L2::", "level::"))
        ):
            d.fail(i.name)
    if not type or WIDTH[type] > 64:
        d.fail(i.name)
    return space, count, type


@effect("ld", "ldu")
def load(i: Instruction, d: Decoder) -> Effect:
    """`ld.space.type d, [a]`; a vector is one access, aligned to all of it."""
    space, count, type = known(i, d)
    size, kind, place = count * WIDTH[type] // 8, unsigned(type), d.place
    address = d.address(i.operands[1])
    ends = i.operands[0] if isinstance(i.operands[0], tuple) else (i.operands[0],)
    if len(ends) != count:
        d.fail(f"{i.name} with {len(ends)} results")
    puts = [d.result(end, type) for end in ends]
    before: list[Any] = [None]
    looks = not _ORDER.isdisjoint(i.modifiers) and "weak" not in i.modifiers

    def run(frame: Frame, mask: Mask) -> None:
        batch = frame.batch
        at = address(frame)
        items = batch.memory.load(frame, space, at, size, mask, place)
        if space != "param" and items.size:
            now = at.flat[0], items.flat[0].tobytes()
            batch.asked(looks, now == before[0])
            before[0] = now
        if count == 1:
            puts[0](frame, items, mask)
            return
        parts = items[..., None].view(kind)
        for n, put in enumerate(puts):
            put(frame, parts[..., n], mask)

    return run


@effect("st")
def store(i: Instruction, d: Decoder) -> Effect:
    """`st.space.type [a], b`; `st.async` tells its bytes to an mbarrier."""
    space, count, type = known(i, d, frozenset({"async", "mbarrier::complete_tx::bytes"}))
    if space == "param":
        d.fail(i.name)
    address, place = d.address(i.operands[0]), d.place
    given = i.operands[1] if isinstance(i.operands[1], tuple) else (i.operands[1],)
    sources = [d.source(one, type) for one in given]
    kind, whole = unsigned(type), item(count * WIDTH[type] // 8)
    signal = d.address(i.operands[2]) if "async" in i.modifiers else None

    def run(frame: Frame, mask: Mask) -> None:
        values = packed([frame.regs[s] for s in sources], kind, whole)
        if mask is not None:
            values = frame.active(values, mask)
        if signal is None:
            frame.batch.memory.store(frame, space, address(frame), values, mask, place)
        else:
            where = located(frame, signal(frame), mask)
            with frame.batch.signalled(where, 1):
                frame.batch.memory.store(frame, space, address(frame), values, mask, place, "sent")
            sizes = np.full(where[0].size, whole.itemsize, np.int64)
            Mbarriers.of(frame.batch).complete(frame, where, sizes, mask, place)

    return run


def packed(parts: list[Bits], kind: type[np.generic], whole: np.dtype[np.generic]) -> Bits:
    """Several registers side by side, as one item for each thread."""
    if len(parts) == 1:
        return parts[0]
    made = np.empty((*np.broadcast_shapes(*[p.shape for p in parts]), len(parts)), kind)
    for n, part in enumerate(parts):
        made[..., n] = part
    return made.view(whole)[..., 0]


@effect("cvta")
def convert_address(i: Instruction, d: Decoder) -> Effect:
    """`cvta.space d, a` makes a generic address, `cvta.to.space` undoes it."""
    name = next((m for m in i.modifiers if m in SPACES), None)
    if name is None:
        d.fail(i.name)
    type = i.types[-1]
    window = WINDOWS.get(SPACES[str(name)], 0)
    source, put = d.source(i.operands[1], type), d.result(i.operands[0], type)
    step = unsigned(type)(window) if WIDTH[type] == 64 else unsigned(type)(0)
    back = "to" in i.modifiers

    def run(frame: Frame, mask: Mask) -> None:
        a = frame.regs[source]
        found = a if not step else a - step if back else a + step
        put(frame, found if mask is None else frame.active(found, mask), mask)

    return run


@effect("isspacep")
def is_space(i: Instruction, d: Decoder) -> Effect:
    """`isspacep.space p, a`: whether a generic address lies in a window."""
    name = next((SPACES[m] for m in i.modifiers if m in SPACES), "")
    source, put = d.source(i.operands[1], "b64"), d.result(i.operands[0], "pred")
    wanted = {"shared": 1, "local": 2, "param": 3}.get(name, 0)

    def run(frame: Frame, mask: Mask) -> None:
        found = frame.regs[source] >> np.uint64(56) == np.uint64(wanted)
        put(frame, found if mask is None else frame.active(found, mask), mask)

    return run


@effect("prefetch", "prefetchu", "applypriority", "discard", "createpolicy")
def prefetch(i: Instruction, d: Decoder) -> Effect:
    """Hints to caches: nothing happens. A cache policy is a number that nobody looks at."""
    put = d.result(i.operands[0], "b64") if i.opcode == "createpolicy" else None

    def run(frame: Frame, mask: Mask) -> None:
        if put is not None:
            zero = np.zeros((1, 1), np.uint64)
            put(frame, zero if mask is None else frame.active(zero, mask), mask)

    return run
