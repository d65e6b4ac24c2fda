"""Handlers of the operations without a meaning: memory, atomics, assertions, prints, queries.

Each makes one `Access`, shows it to every checker, and touches memory only in the lanes that the
checkers (or, when nothing is judged, the storage's own limits) leave standing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.errors import DeviceAssertionError, OutOfBoundsError, ReadOnlyError
from blockstep.findings import Access, AssertFailed, FalseHint, Lanes, Mark, Site
from blockstep.interp import atomics, marks
from blockstep.interp.events import hooks
from blockstep.interp.forms import Affine, Box, Uniform, compact
from blockstep.interp.memory import Storage, View
from blockstep.interp.reach import Reach, reach_of
from blockstep.interp.transfer import gather, scatter
from blockstep.language import types as ty
from blockstep.language.frames import user_site
from blockstep.language.op import Op
from blockstep.language.value import tensor

if TYPE_CHECKING:
    from blockstep.interp.step import StepMachine

_OURS = 4  # a handler, two calls of `emit`, and who emits: no frame before the last is the user's
Operands = tuple[Any, ...]
Attributes = dict[str, Any]


def _program_id(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    return _int32(machine.scheduler.program[attributes["axis"]])


def _num_programs(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    return _int32(machine.grid[attributes["axis"]])


def _int32(value: int) -> tensor:
    result = tensor(None, ty.int32)
    result.form, result.bounds = Affine(value, None), (value, value)
    return result


# Memory.


def _parts(
    machine: StepMachine, pointer: tensor, active: Any
) -> list[tuple[View | None, Storage | None, Any]]:
    """The views (or bare storages) that the lanes point into, each with its lanes."""
    origin = pointer.origin
    if isinstance(origin, View):
        return [(origin, origin.storage, active)]
    addresses, active = np.asarray(pointer.handle), _flags(active)
    parts: list[tuple[View | None, Storage | None, Any]] = []
    for storage, lanes in machine.space.locate(addresses, active):
        views = origin if isinstance(origin, tuple) else ()
        view = next((v for v in views if storage is not None and v.storage is storage), None)
        parts.append((view, storage, lanes))
    return parts


def _view(pointer: tensor) -> View | None:
    """The one view that a pointer came from, if that is known."""
    return pointer.origin if isinstance(pointer.origin, View) else None


def _check_operands(
    machine: StepMachine, pointer: tensor, mask: tensor | None, site: Site, op: str, view: Any
) -> None:
    """Marked addresses and masks decide what is touched: report them. Where a reported address
    lies is no news then."""
    machine.known = None
    if machine.judge is None:
        return
    if mask is not None and mask.marks is not None:
        machine.reach(mask, "mask", site, op=op, view=view)
    if pointer.marks is not None:
        active = None if mask is None else mask.handle
        machine.known = machine.reach(pointer, "address", site, active=active, op=op, view=view)


def _shown(machine: StepMachine, access: Access) -> Any:
    """Shows an access to the checkers; the lanes that may be executed (None: all that are on)."""
    active = access.given
    if machine.judge is None:
        return _guarded(machine, access)
    access.known = machine.known
    ears = machine.ears
    if ears is None:
        ears = machine.ears = hooks(machine.checkers, "access")
    for hear in ears:
        skip = hear(access)
        if skip is not None:
            active = ~skip if active is None else access.mask & ~skip
            access.mask, access.skipped = active, True
    return active


def _guarded(machine: StepMachine, access: Access) -> Any:
    """Unjudged runs stop at what would be an illegal address on the device."""
    storage, reach = access.storage, reach_of(access)
    if not reach.count:
        return access.given
    if storage is None or reach.low < storage.base or reach.high > storage.end:
        name = access.view.name if access.view is not None else "any argument"
        raise OutOfBoundsError(
            f"{access.op} outside of the memory of `{name}` in program instance "
            f"{machine.scheduler.program}; `blockstep check` says which elements and why"
        )
    return access.given


def _active(mask: tensor | None) -> Any:
    """The lanes that are on; None when all are."""
    if mask is None:
        return None
    if type(mask.form) is Uniform and mask.form.value:
        return None
    return mask.handle


def _partial(mask: tensor | None) -> tensor | None:
    """The mask where it is off somewhere, or may be; None when all lanes are on."""
    if mask is None or (type(mask.form) is Uniform and mask.form.value):
        return None
    return mask


def _flags(lanes: Any) -> Any:
    """Lanes that are on, as an array; None when all are."""
    return lanes.handle if type(lanes) is tensor else lanes


def _reach(pointer: tensor, lanes: Any, size: int) -> Reach | None:
    """Where the lanes go, if that is regular: affine pointers in a box of the block."""
    form, shape = pointer.form, pointer.type.shape
    if type(form) is not Affine or (form.strides is None and shape):
        return None
    strides = form.strides or ()
    if lanes is None:
        return Reach.regular(form.const, strides, shape, size)
    box = lanes.form if type(lanes) is tensor else None
    if type(box) is not Box:
        return None
    return Reach.regular(form.const, strides, shape, size, box, lanes)


def _is_regular(reach: Reach | None, lanes: Any) -> bool:
    return reach is not None and reach.strides is not None and reach.given is lanes


def _load(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> tensor:
    pointer, mask, other = operands
    kind = op.rule(pointer.type)
    site = user_site(_OURS)
    lanes = _partial(mask)
    machine.known = None
    if pointer.marks is not None or (mask is not None and mask.marks is not None):
        _check_operands(machine, pointer, mask, site, "load", _view(pointer))
    fill = None if other is None else compact(other)
    data, skipped = _read(machine, pointer, lanes, kind, fill, site, "load", attributes)
    result = tensor(data, kind)
    if (lanes is not None or skipped is not None) and (
        machine.judge is not None or machine.watched
    ):
        _poison(machine, result, pointer, lanes, other, site, skipped)
    while machine.unread:
        unread = machine.unread.pop()
        marks.add(result, "unread", unread.lanes, unread.tell)
    return result


def _read(
    machine: StepMachine,
    pointer: tensor,
    active: Any,
    kind: Any,
    fill: Any,
    site: Site,
    name: str,
    attributes: Attributes,
) -> tuple[Any, Any]:
    """The elements, and the lanes that a checker kept from being read (None: none)."""
    dtype, shape = kind.scalar.numpy, pointer.type.shape
    data, skipped = None, None
    for view, storage, lanes in _parts(machine, pointer, active):
        access = Access(
            name, view, storage, "read", dtype.itemsize, pointer, lanes,
            machine.scheduler.program, site, None,
            "volatile" if attributes["volatile"] else None, None,
            _reach(pointer, lanes, dtype.itemsize),
        )  # fmt: skip
        allowed = _shown(machine, access)
        if allowed is not lanes:
            lost = (np.ones(shape, bool) if lanes is None else _flags(lanes)) & ~allowed
            skipped = lost if skipped is None else skipped | lost
        start = fill if data is None else data
        if storage is None:
            continue
        if _is_regular(access.reach, allowed) and dtype.kind != "b":
            data = _taken(access.reach, storage, dtype, start)
        elif allowed is None or np.any(_flags(allowed)):
            data = gather(storage, pointer.handle, dtype, _flags(allowed), start)
        else:
            continue
        _note_load(machine, site, data, attributes, pointer)
    if data is None:
        blank = np.zeros(shape, dtype) if fill is None else np.array(fill, dtype)
        data = np.broadcast_to(blank, shape).copy()
    return data, skipped


def _taken(reach: Reach, storage: Storage, dtype: np.dtype[Any], fill: Any) -> Any:
    """The elements under a regular reach; `fill` (None: zeros) around its box."""
    window = reach.window(storage.data, storage.base, dtype)
    if reach.box is None:
        return window.copy() if reach.whole else window[()]
    out = np.empty(reach.whole, dtype)
    out[...] = 0 if fill is None else fill
    out[reach.box.slices] = window
    return out


def _note_load(
    machine: StepMachine, site: Site, data: Any, attributes: Attributes, pointer: tensor
) -> None:
    """Tells the scheduler, which finds out whether this instance only waits."""
    pending = machine.pending
    form = pointer.form
    address = form.const if type(form) is Affine else int(np.ravel(pointer.handle)[0])
    if attributes["volatile"]:
        machine.scheduler.note_event(
            site.key, False, (address, np.asarray(data).tobytes()), "load", address
        )
    else:
        machine.scheduler.note_load(
            site.key, lambda: (address, np.asarray(data).tobytes()), "load", address
        )
    machine.pending = pending


def _poison(
    machine: StepMachine,
    result: tensor,
    pointer: tensor,
    mask: tensor | None,
    other: tensor | None,
    site: Site,
    skipped: Any,
) -> None:
    """Lanes that were not read and have no fill value are undefined; a fill keeps its own marks."""
    program = machine.scheduler.program
    name = pointer.origin.name if isinstance(pointer.origin, View) else None
    if mask is not None and other is None:
        off = ~mask.handle
        if np.any(off):
            marks.add(
                result,
                "poison",
                off,
                lambda: Mark(
                    "masked-load", site.span, program, type_text=str(result.type), argument=name
                ),
            )
    elif mask is not None and other is not None and other.marks:
        for mark, taint in other.marks.items():
            marks.add(result, mark, taint.lanes & ~mask.handle, taint.born)
    if skipped is not None:
        # Reported where it happened: what comes of it is not reported again.
        result.marks = {
            mark: taint.with_lanes(taint.lanes & ~skipped)
            for mark, taint in (result.marks or {}).items()
        } or None


def _store(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    pointer, value, mask = operands
    site = user_site(_OURS)
    lanes = _partial(mask)
    machine.known = None
    if pointer.marks is not None or (mask is not None and mask.marks is not None):
        _check_operands(machine, pointer, mask, site, "store", _view(pointer))
    if value.marks is not None and machine.judge is not None:
        active, view = _flags(lanes), _view(pointer)
        machine.reach(value, "store", site, active=active, op="store", view=view, only=_STORED)
    _write(machine, pointer, compact(value), lanes, site, "store")


_STORED = frozenset(
    {"poison", "unread", "division", "shift", "cast"}
)  # a wrapped value may be stored


def _write(
    machine: StepMachine, pointer: tensor, value: Any, active: Any, site: Site, name: str
) -> None:
    for view, storage, lanes in _parts(machine, pointer, active):
        _refuse_read_only(view, storage, lanes)
        access = Access(
            name, view, storage, "write", value.dtype.itemsize, pointer, lanes,
            machine.scheduler.program, site, value, None, None,
            _reach(pointer, lanes, value.dtype.itemsize),
        )  # fmt: skip
        allowed = _shown(machine, access)
        if storage is None:
            continue
        regular = _is_regular(access.reach, allowed)
        if not (regular or allowed is None or np.any(_flags(allowed))):
            continue
        if machine.scheduler.precise:
            if not _changes(storage, pointer.handle, value, _flags(allowed)):
                continue
        elif regular and access.reach.rising and value.dtype.kind != "b":
            _put(access.reach, storage, value)
        else:
            scatter(storage, pointer.handle, value, _flags(allowed))
        machine.scheduler.changed()


def _changes(storage: Storage, addresses: Any, value: Any, allowed: Any) -> bool:
    """Writes a block; whether memory is another than before."""
    before = gather(storage, addresses, value.dtype, allowed)
    scatter(storage, addresses, value, allowed)
    after = gather(storage, addresses, value.dtype, allowed)
    return np.asarray(before).tobytes() != np.asarray(after).tobytes()


def _put(reach: Reach, storage: Storage, value: Any) -> None:
    """Writes a block under a regular reach whose lanes never meet."""
    window = reach.window(storage.data, storage.base, value.dtype)
    window[...] = value[reach.box.slices] if reach.box is not None and value.ndim else value


def _refuse_read_only(view: View | None, storage: Storage | None, lanes: Any) -> None:
    if view is not None and not view.writeable and (lanes is None or np.any(_flags(lanes))):
        raise ReadOnlyError(
            f"the kernel writes to `{view.name}`, which was passed as a read-only array: pass a "
            f"writable copy ({view.name}.copy()), or do not store to it"
        )
    if view is None and storage is not None and storage.readonly:
        raise ReadOnlyError("the kernel writes through a pointer into read-only memory")


# Atomics.


def _atomic(
    machine: StepMachine,
    pointer: tensor,
    mask: tensor | None,
    values: tuple[tensor, ...],
    name: str,
    kind: Any,
    attributes: Attributes,
    act: Callable[[Any, Any, tuple[Any, ...]], tuple[Any, Any]],
) -> tensor:
    """One atomic on a block: `act(memory, index, lane values)` gives the old values, and which
    lanes wrote (None: all of them)."""
    site = user_site()
    active = _active(mask)
    origin = pointer.origin if isinstance(pointer.origin, View) else None
    if machine.judge is not None:
        _check_operands(machine, pointer, mask, site, name, origin)
        for value in values:
            if value.marks is not None:
                machine.reach(
                    value, "atomic", site, active=active, op=name, view=origin, only=_STORED
                )
    shape, dtype = np.shape(pointer.handle), kind.scalar.numpy
    addresses = np.atleast_1d(pointer.handle).reshape(-1)
    out = np.zeros(addresses.shape, dtype)
    for view, storage, lanes in _parts(machine, pointer, active):
        _refuse_read_only(view, storage, lanes)
        access = Access(
            name, view, storage, "atomic", dtype.itemsize, np.asarray(pointer.handle), lanes,
            machine.scheduler.program, site, np.asarray(values[-1].handle) if values else None,
            attributes["sem"], attributes["scope"],
        )  # fmt: skip
        allowed = _shown(machine, access)
        if storage is None or not (allowed is None or np.any(allowed)):
            continue
        lanes_on = slice(None) if allowed is None else np.reshape(allowed, -1)
        phase = int(addresses[lanes_on][0] - storage.base) % dtype.itemsize
        memory = storage.typed(dtype, phase)
        index = (addresses[lanes_on] - storage.base - phase) // dtype.itemsize
        operands = tuple(np.reshape(v.handle, -1)[lanes_on] for v in values)
        before = memory[index]
        out[lanes_on], wrote = act(memory, index, operands)
        changed = before.tobytes() != memory[index].tobytes()
        for checker in machine.checkers:
            checker.atomic(
                access, out, memory[index], _spread_lanes(wrote, lanes_on, out.shape, shape)
            )
        _note_atomic(machine, site, changed, addresses, out, operands, name)
    result = tensor(out.reshape(shape) if shape else out[0], kind)
    if machine.judge is not None and mask is not None and active is not None and not np.all(active):
        program, argument = machine.scheduler.program, origin.name if origin else None
        marks.add(
            result,
            "poison",
            ~mask.handle,
            lambda: Mark("masked-load", site.span, program, op=name, argument=argument),
        )
    return result


def _spread_lanes(wrote: Any, lanes_on: Any, flat: Any, shape: Any) -> Any:
    """Which lanes of the block wrote, from which of the active ones did."""
    if wrote is None:
        return None
    out = np.zeros(flat, bool)
    out[lanes_on] = wrote
    return out.reshape(shape)


def _note_atomic(
    machine: StepMachine,
    site: Site,
    changed: bool,
    addresses: Any,
    old: Any,
    operands: tuple[Any, ...],
    name: str,
) -> None:
    if changed:
        machine.scheduler.changed()
        return
    pending = machine.pending
    seen = (addresses.tobytes(), old.tobytes(), *(v.tobytes() for v in operands))
    machine.scheduler.note_event(site.key, False, seen, name, int(addresses[0]))
    machine.pending = pending


def _atomic_rmw(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    pointer, value, mask = operands
    combine = attributes["combine"]

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        return atomics.read_modify_write(memory, index, values[0], combine), None

    kind = op.rule(pointer.type)
    return _atomic(machine, pointer, mask, (value,), f"atomic_{combine}", kind, attributes, act)


def _atomic_cas(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    pointer, expected, value = operands

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        return atomics.compare_and_swap(memory, index, *values)

    kind = op.rule(pointer.type)
    return _atomic(machine, pointer, None, (expected, value), "atomic_cas", kind, attributes, act)


def _atomic_load(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    pointer, mask = operands

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        return memory[index], np.zeros(index.shape, bool)

    kind = op.rule(pointer.type)
    return _atomic(machine, pointer, mask, (), "atomic_load", kind, attributes, act)


def _atomic_store(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    pointer, value, mask = operands

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        before = memory[index]
        memory[index] = values[0]
        return before, None

    kind = ty.blocked(value.type.scalar, pointer.type.shape)
    _atomic(machine, pointer, mask, (value,), "atomic_store", kind, attributes, act)


# Control.


def _barrier(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    site = user_site()
    for checker in machine.checkers:
        checker.barrier(machine.scheduler.program, site)


def _assert(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    condition, mask = operands
    site = user_site()
    active = None if mask is None else mask.handle
    if machine.judge is not None and condition.marks is not None:
        machine.reach(condition, "assert", site, active=active, op="device_assert")
    failed = ~np.asarray(condition.handle, bool)
    if active is not None:
        failed = failed & active
    if not np.any(failed):
        return
    message = str(attributes["message"])
    if machine.judge is None:
        raise DeviceAssertionError(message or "device_assert failed")
    machine.report(AssertFailed, site, message=message, lanes=Lanes.of(failed))


def _print(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    """One line an element, as the device prints them: indices as wide as the widest."""
    program = ", ".join(map(str, machine.scheduler.program))
    prefix, as_hex = attributes["prefix"], attributes["hex"]
    if not operands:
        sys.stdout.write(f"pid ({program}){prefix}\n")
    for number, x in enumerate(operands):
        label = prefix if len(operands) == 1 else f"{prefix}(operand {number}) "
        for index in np.ndindex(*x.type.shape):
            text = _printed(np.asarray(x.handle)[index], x.type.scalar, as_hex)
            places = zip(index, x.type.shape, strict=True)
            where = ", ".join(str(i).rjust(len(str(n - 1))) for i, n in places)
            sys.stdout.write(f"pid ({program}) idx ({where}){label}{text}\n")


def _printed(value: Any, kind: ty.dtype, as_hex: bool) -> str:
    if kind.is_ptr():
        return f"0x{int(value):x}"
    if as_hex:
        raw = np.asarray(value)
        bits = int(raw.view(f"u{raw.dtype.itemsize}")) if raw.dtype != bool else int(raw)
        return f"0x{bits:0{2 * raw.dtype.itemsize}x}"
    if kind.is_floating():
        return f"{float(value):f}"
    return str(int(value))


def _assume(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    (condition,) = operands
    false = ~np.asarray(condition.handle, bool)
    if np.any(false) and not condition.marks:
        machine.report(FalseHint, user_site(), hint="assume", lanes=Lanes.of(false))


def _hint(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> tensor:
    (x,) = operands
    if machine.judge is not None:
        _check_hint(machine, x, attributes["hint"], attributes["values"])
    return x  # type: ignore[no-any-return]


def _check_hint(machine: StepMachine, x: tensor, hint: str, claimed: tuple[int, ...]) -> None:
    """A promise is judged for each run of elements along an axis that it speaks of."""
    data = np.asarray(x.handle)
    if x.type.scalar.is_ptr():
        itemsize = x.type.scalar.element_ty.itemsize  # type: ignore[attr-defined]
    else:
        itemsize = 1
    for axis, n in enumerate(claimed):
        broken = _broken(data, hint, n, axis, itemsize, 0)
        if broken is not None and np.any(broken):
            first = data[broken][:4] if data.ndim else [data]
            seen = tuple(str(int(v)) for v in np.ravel(first))
            shown = () if x.type.scalar.is_ptr() else seen
            machine.report(
                FalseHint,
                user_site(),
                hint=hint,
                claimed=claimed,
                seen=shown,
                lanes=Lanes.of(broken),
                axis=axis if data.ndim else None,
            )
            return


def breaks_hint(data: Any, hint: str, claimed: tuple[int, ...], itemsize: int, lead: int) -> bool:
    """Whether a promise is false for any of the blocks behind `lead` leading axes."""
    for axis, n in enumerate(claimed):
        scalar = data.ndim == lead
        if scalar and hint == "multiple_of":
            broken = data % n != 0
        else:
            broken = None if scalar else _broken(data, hint, n, lead + axis, itemsize, lead)
        if broken is not None and broken.any():
            return True
    return False


def _broken(data: Any, hint: str, n: int, axis: int, itemsize: int, lead: int) -> Any:
    """The elements for which a promise is false; addresses are promised in bytes."""
    if n <= 1:
        return None
    if hint == "multiple_of":
        if data.ndim == 0:
            return np.asarray(data % n != 0)
        # The promise is on the first element of each run of contiguous values along the axis, and
        # the compiler only uses that of an axis with such runs, if there is one.
        starts = _run_starts(data, axis, itemsize)
        others = [a for a in range(lead, data.ndim) if a != axis]
        if starts.all() and not all(_run_starts(data, a, itemsize).all() for a in others):
            return None
        return starts & (data % n != 0)
    if data.ndim == 0 or data.shape[axis] % n:
        return None
    runs = np.moveaxis(data, axis, -1).reshape(-1, data.shape[axis] // n, n)
    step = itemsize if hint == "max_contiguous" else 0
    bad = np.diff(runs.astype(np.int64), axis=-1) != step
    bad = np.concatenate([np.zeros_like(bad[..., :1]), bad], axis=-1)
    moved = bad.reshape(np.moveaxis(data, axis, -1).shape)
    return np.moveaxis(moved, -1, axis)


def _run_starts(data: Any, axis: int, itemsize: int) -> Any:
    steps = np.diff(data.astype(np.int64), axis=axis) != itemsize
    head = np.ones_like(np.take(data, [0], axis=axis), dtype=bool)
    return np.concatenate([head, steps], axis=axis)


HANDLERS: dict[str, Callable[[StepMachine, Op, Operands, Attributes], Any]] = {
    "program_id": _program_id,
    "num_programs": _num_programs,
    "load": _load,
    "store": _store,
    "atomic_rmw": _atomic_rmw,
    "atomic_cas": _atomic_cas,
    "atomic_load": _atomic_load,
    "atomic_store": _atomic_store,
    "barrier": _barrier,
    "assert": _assert,
    "print": _print,
    "assume": _assume,
    "hint": _hint,
}
