"""Loads and stores of the step machine.

Each makes one `Access`, shows it to every checker, and touches memory only in the lanes that the
checkers (or, when nothing is judged, the storage's own limits) leave standing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.errors import OutOfBoundsError, ReadOnlyError
from blockstep.findings import Access, Mark, Site
from blockstep.interp import marks
from blockstep.interp.events import hooks
from blockstep.interp.forms import Affine, Box, Uniform, compact
from blockstep.interp.memory import Storage, View
from blockstep.interp.reach import Reach, reach_of
from blockstep.interp.transfer import gather, scatter
from blockstep.language.frames import user_site
from blockstep.language.op import Op
from blockstep.language.value import tensor

if TYPE_CHECKING:
    from blockstep.interp.step import StepMachine

OURS = 4  # a handler, two calls of `emit`, and who emits: no frame before the last is the user's
Operands = tuple[Any, ...]
Attributes = dict[str, Any]


def parts(
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


def check_operands(
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


def shown(machine: StepMachine, access: Access) -> Any:
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


def active_lanes(mask: tensor | None) -> Any:
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


def load(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> tensor:
    pointer, mask, other = operands
    kind = op.rule(pointer.type)
    site = user_site(OURS)
    lanes = _partial(mask)
    machine.known = None
    if pointer.marks is not None or (mask is not None and mask.marks is not None):
        check_operands(machine, pointer, mask, site, "load", _view(pointer))
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
    for view, storage, lanes in parts(machine, pointer, active):
        access = Access(
            name, view, storage, "read", dtype.itemsize, pointer, lanes,
            machine.scheduler.program, site, None,
            "volatile" if attributes["volatile"] else None, None,
            _reach(pointer, lanes, dtype.itemsize),
        )  # fmt: skip
        allowed = shown(machine, access)
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


def store(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    pointer, value, mask = operands
    site = user_site(OURS)
    lanes = _partial(mask)
    machine.known = None
    if pointer.marks is not None or (mask is not None and mask.marks is not None):
        check_operands(machine, pointer, mask, site, "store", _view(pointer))
    if value.marks is not None and machine.judge is not None:
        active, view = _flags(lanes), _view(pointer)
        machine.reach(value, "store", site, active=active, op="store", view=view, only=STORED)
    _write(machine, pointer, compact(value), lanes, site, "store")


STORED = frozenset(
    {"poison", "unread", "division", "shift", "cast"}
)  # a wrapped value may be stored


def _write(
    machine: StepMachine, pointer: tensor, value: Any, active: Any, site: Site, name: str
) -> None:
    for view, storage, lanes in parts(machine, pointer, active):
        refuse_read_only(view, storage, lanes)
        access = Access(
            name, view, storage, "write", value.dtype.itemsize, pointer, lanes,
            machine.scheduler.program, site, value, None, None,
            _reach(pointer, lanes, value.dtype.itemsize),
        )  # fmt: skip
        allowed = shown(machine, access)
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


def refuse_read_only(view: View | None, storage: Storage | None, lanes: Any) -> None:
    if view is not None and not view.writeable and (lanes is None or np.any(_flags(lanes))):
        raise ReadOnlyError(
            f"the kernel writes to `{view.name}`, which was passed as a read-only array: pass a "
            f"writable copy ({view.name}.copy()), or do not store to it"
        )
    if view is None and storage is not None and storage.readonly:
        raise ReadOnlyError("the kernel writes through a pointer into read-only memory")
