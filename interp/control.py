"""What a kernel says about itself: assertions, prints, barriers, promises."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.errors import DeviceAssertionError
from blockstep.findings import AssertFailed, FalseHint, Lanes
from blockstep.language import types as ty
from blockstep.language.frames import user_site
from blockstep.language.op import Op
from blockstep.language.value import tensor

if TYPE_CHECKING:
    from blockstep.interp.step import StepMachine

Operands = tuple[Any, ...]
Attributes = dict[str, Any]


def barrier(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    site = user_site()
    for checker in machine.checkers:
        checker.barrier(machine.scheduler.program, site)


def check(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
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


def show(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
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


def assume(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    (condition,) = operands
    false = ~np.asarray(condition.handle, bool)
    if np.any(false) and not set(condition.marks or ()) - {"nan"}:
        machine.report(FalseHint, user_site(), hint="assume", lanes=Lanes.of(false))


def hint(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> tensor:
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
