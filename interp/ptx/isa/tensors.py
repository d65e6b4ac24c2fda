"""`cp.async.bulk.tensor`: boxes of an array between global and shared memory, by a tensor map.

A box lies in shared memory with the innermost dimension first, its 16-byte chunks exchanged by the
swizzle: bits 7 and on of the address, as many as the swizzle says, are added (without carry) to bits
4 and on. Elements outside of the array are read as zeros and not written. A copy is done when it is
issued, and its bytes are told to the mbarrier at once.

Boxes that are read may begin anywhere. Of those that are written (or combined with memory) the hardware
takes none that begins below zero along an axis, or in a row at anything but a multiple of 16 bytes: it
ends the launch with an illegal instruction, and so does this machine. Past the end they may begin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Frame, Mask
from blockstep.interp.ptx.isa.atomics import REDUCTIONS, Reduction, reduction
from blockstep.interp.ptx.isa.copies import Groups, repeated
from blockstep.interp.ptx.isa.mbarriers import Mbarriers, located
from blockstep.interp.ptx.isa.registry import Instruction
from blockstep.interp.ptx.judging.bulk_writes import BulkWrites
from blockstep.interp.ptx.memory import RANK_SHIFT, item
from blockstep.interp.ptx.syntax import Address
from blockstep.interp.ptx.tensor_map import BYTES, Incomplete, Made, TensorMap, number_in

_MASKS = {0: 0, 32: 1, 64: 3, 128: 7}
_ALIGNMENT = 128
CHUNK = 16


def swizzled(address: Bits, span: int) -> Bits:
    """Where a byte at `address` of a box lies."""
    mask = _MASKS[span]
    return address ^ ((address >> 7 & mask) << 4) if mask else address


def tensor_copy(i: Instruction, d: Decoder) -> Effect:
    """The two directions, one of them with reductions; gathers (im2col) are not known."""
    words = [m for m in i.modifiers if not m.startswith("L2::") and m != "tile"]
    if "prefetch" in words:
        return lambda frame, mask: None
    reduces = words[0] == "reduce"
    words = words[reduces:]
    if not words[3].endswith("d") or "im2col" in words:
        d.fail(i.name)
    if words[4] == "global":
        return _store(i, d, next((w for w in words if w in REDUCTIONS), "") if reduces else "")
    return _load(i, d, "multicast::cluster" in words)


def _load(i: Instruction, d: Decoder, multicast: bool) -> Effect:
    """`[dst], [map, {x, y}], [mbar]{, mask}`."""
    to, box, signal = d.address(i.operands[0]), _box(i.operands[1], d), d.address(i.operands[2])
    place = d.place
    ranks = d.source(i.operands[3], "u16") if multicast else None

    def run(frame: Frame, mask: Mask) -> None:
        target, bar = to(frame), signal(frame)
        for lanes, tensor, coordinates in box(frame, mask):
            if ranks is None:
                _read(frame, lanes, tensor, coordinates, target, bar, place)
                continue
            for rank in range(frame.batch.cluster):
                told = (frame.full(frame.regs[ranks]) >> rank & 1) != 0
                if (lanes & told).any():
                    step = target.dtype.type((rank + 1) << RANK_SHIFT)
                    low = target.dtype.type((1 << RANK_SHIFT) - 1)
                    there = (target & low) + step, (bar & low) + step
                    some = coordinates[told[lanes]]
                    _read(frame, lanes & told, tensor, some, *there, place)

    return run


def _store(i: Instruction, d: Decoder, how: str) -> Effect:
    """`[map, {x, y}], [src]`; `how` memory and block are combined, if they are."""
    box, source, place = _box(i.operands[0], d), d.address(i.operands[1]), d.place
    kinds: dict[str, Reduction] = {}

    def run(frame: Frame, mask: Mask) -> None:
        start, memory = source(frame), frame.batch.memory
        for lanes, tensor, coordinates in box(frame, mask):
            _check_written(frame, lanes, tensor, coordinates, place)
            many, inside, far = _elements(frame, lanes, tensor, coordinates)
            few, near = _chunks(frame, lanes, tensor, start, place)
            Groups.of_bulk(frame.batch)
            values = memory.load(few, "shared", near, CHUNK, None, place, "bulk")
            elements = values.reshape(-1).view(item(tensor.itemsize)).reshape(many.shape)
            if how and tensor.kind not in kinds:
                kinds[tensor.kind] = reduction(i, how, tensor.kind, d)
            with BulkWrites.told(many, far, inside, tensor.itemsize, how, place):
                if how:
                    kinds[tensor.kind](many, far, elements[inside], inside)
                else:
                    memory.store(many, "global", far, elements[inside], inside, place)

    return run


def _read(
    frame: Frame, lanes: Bits, tensor: TensorMap, coordinates: Bits, target: Bits, bar: Bits,
    place: Place,
) -> None:  # fmt: skip
    many, inside, far = _elements(frame, lanes, tensor, coordinates)
    few, near = _chunks(frame, lanes, tensor, target, place)
    memory = frame.batch.memory
    values = np.zeros(many.shape, item(tensor.itemsize))
    if tensor.fill is not None:
        values[:] = np.frombuffer(tensor.fill, values.dtype)[0]
    values[inside] = memory.load(many, "global", far, tensor.itemsize, inside, place)
    where = located(frame, bar, lanes)
    with frame.batch.signalled(where, _nbytes(tensor) // CHUNK):
        memory.store(few, "shared", near, values.view(item(CHUNK)), None, place, "engine")
    sizes = np.full(where[0].size, _nbytes(tensor), np.int64)
    Mbarriers.of(frame.batch).complete(frame, where, sizes, lanes, place)


def _check_written(
    frame: Frame, lanes: Bits, tensor: TensorMap, coordinates: Bits, place: Place
) -> None:
    """Ends the launch for a box that the hardware does not write."""
    row = coordinates[:, :1] * tensor.itemsize
    for wrong in (coordinates < 0, row % CHUNK != 0):
        if not wrong.any():
            continue
        thread, axis = np.argwhere(wrong)[0].tolist()
        at = int(coordinates[thread, axis])
        if at < 0:
            told = f"coordinate {at} of axis {axis}, counted from the innermost, and it takes none"
            told += " below zero"
        else:
            told = f"byte {int(row[thread, 0])} of a row (coordinate {at}), and it takes"
            told += f" multiples of {CHUNK} bytes alone"
        some = lanes.copy()
        some[lanes] = wrong.any(axis=1)
        what = f"a box that the copy engine writes begins at {told}"
        raise frame.batch.trap(frame, "trap", what, some, place)


def _nbytes(tensor: TensorMap) -> int:
    return int(np.prod(tensor.box)) * tensor.itemsize


def _elements(
    frame: Frame, lanes: Bits, tensor: TensorMap, coordinates: Bits
) -> tuple[Frame, Bits, Bits]:
    """Every element of the boxes of some threads: a frame with a thread for each, which of them lie
    inside of the array, and their addresses there."""
    count = int(np.prod(tensor.box))
    many = repeated(frame, frame.active(frame.cta, lanes), frame.active(frame.tid, lanes), count)
    left = np.arange(count, dtype=np.int64)
    far: Any = np.full((len(coordinates), 1), tensor.address, np.int64)
    inside: Any = np.True_
    for axis, n in enumerate(tensor.box):
        at = coordinates[:, axis : axis + 1] + left % n
        left = left // n
        inside = inside & (at >= 0) & (at < tensor.shape[axis])
        far = far + at * (tensor.itemsize if axis == 0 else tensor.strides[axis - 1])
    inside = np.broadcast_to(inside, (len(coordinates), count)).reshape(many.shape)
    return many, inside, far.reshape(many.shape)


def _chunks(
    frame: Frame, lanes: Bits, tensor: TensorMap, start: Bits, place: Place
) -> tuple[Frame, Bits]:
    """The boxes of some threads in shared memory: a frame with a thread for each 16 bytes, and
    their addresses."""
    if tensor.box[0] * tensor.itemsize % CHUNK:
        raise frame.batch.trap(
            frame, "alignment", "a box whose rows are no multiple of 16 bytes", lanes, place
        )
    count = _nbytes(tensor) // CHUNK
    few = repeated(frame, frame.active(frame.cta, lanes), frame.active(frame.tid, lanes), count)
    base = frame.active(start.astype(np.int64), lanes)[:, None]
    wrong = base[:, 0] & (_ALIGNMENT - 1) != 0
    if wrong.any():
        frame.batch.report(frame, "alignment", "box in shared memory", wrong, lanes, place)
    near = swizzled(base + np.arange(count, dtype=np.int64) * CHUNK, tensor.swizzle)
    return few, near.reshape(few.shape)


def _box(operand: Any, d: Decoder) -> Callable[[Frame, Mask], Any]:
    """What finds the maps and coordinates of `[map, {x, y}]`: (threads, map, coordinates) for
    every map that some thread names."""
    if not isinstance(operand, Address) or not operand.rest:
        d.fail("a tensor map without coordinates")
    address, place = d.address(operand), d.place
    sources = [d.source(one, "s32") for one in operand.rest[0]]

    def found(frame: Frame, mask: Mask) -> Any:
        maps = frame.full(address(frame))
        wanted = np.broadcast_to(np.True_ if mask is None else mask, frame.shape)
        for one in np.unique(maps[wanted]).tolist():
            lanes = wanted & (maps == one)
            parts = [frame.active(frame.regs[s], lanes).view(np.int32) for s in sources]
            coordinates = np.stack(parts, axis=1).astype(np.int64)
            yield lanes, _map_at(frame, lanes, one, len(parts), place), coordinates

    return found


def _map_at(frame: Frame, lanes: Bits, address: int, rank: int, place: Place) -> TensorMap:
    batch = frame.batch
    ctas = frame.active(frame.cta, lanes)
    one = repeated(frame, ctas[:1], frame.active(frame.tid, lanes)[:1], BYTES // 8)
    at = np.uint64(address) + np.arange(0, BYTES, 8, dtype=np.uint64)[None]
    bits = batch.memory.load(one, "generic", at, 8, None, place).tobytes()
    number, made = number_in(bits), Made.of(batch)
    try:
        found: TensorMap = made.map(bits) if number is None else batch.tensor_maps[number]
    except Incomplete as incomplete:
        raise batch.trap(
            frame, "async", f"a tensor map that the engine cannot use: {incomplete}", lanes, place
        ) from None
    if len(found.box) != rank:
        raise batch.trap(frame, "async", f"a tensor map of {len(found.box)} axes", lanes, place)
    seen = made.seen_by.get(address)
    if seen is not None and not seen.issuperset(ctas.tolist()):
        raise batch.trap(frame, "async", "a tensor map that no fence has acquired", lanes, place)
    return found
