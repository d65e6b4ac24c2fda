"""The second half of a short launch, written for one prepared kernel: everything after its key.

The function that `entry` writes is given the grid and the values of a call. It looks whether the
outer names that the code was made from still stand for the same, packs the values into a frame and
calls the driver: one Python frame, in which nothing is looked up that could be known before.

Invariant: it does what `Launcher.launch` does, or gives None with nothing done.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockstep.language.function import JITFunction
from blockstep.runtime.gpu.failures import OtherContext
from blockstep.runtime.gpu.faults import Faults
from blockstep.runtime.gpu.handle import GPUKernel
from blockstep.runtime.gpu.launcher import Launcher
from blockstep.runtime.gpu.values import Gather
from blockstep.runtime.gpu.watch import Watch

Entry = Callable[..., GPUKernel | None]


@dataclass(slots=True, eq=False)
class Prepared:
    """A kernel that is loaded and ready for arguments of one kind."""

    launcher: Launcher
    gather: Gather
    handle: GPUKernel
    watch: Watch
    debug: tuple[Any, Any]


_TEXT = """
def make({cells}):
    def launch(x, y, z, {values}):
        __tracebackhide__ = True
        try:
            if not ({holds}):
                return None
        except (NameError, KeyError):
            return None
        if slots:
            check()
        stream = ask(ordinal)
        try:
            frame = pop()
        except IndexError:
            frame = frames()
        try:
            pack({into}{parts})
        except (PackError, OverflowError):
            fill(frame, {config}({parts}))
        status = {call}
        if status:
            try:
                again({status}, x, y, z, stream, frame)
            except OtherContext:
                return None
        push(frame)
        note(name)
        return handle
    return launch
"""
_LOCAL = ("x", "y", "z", "frame", "status", "stream", "launch")
_ERRORS = (NameError, KeyError, IndexError, OverflowError, OtherContext)


def entry(
    function: JITFunction, prepared: Prepared, faults: Faults, ask: Callable[[int], int]
) -> Entry:
    """The function `launch(x, y, z, *values)`, with one value for each parameter of `function`,
    that gives the handle, or None for a launch that has to go the long way. `ask` tells the stream
    by device."""
    launcher, gather = prepared.launcher, prepared.gather
    ways, space = _calling(launcher)
    space |= gather.space | {
        "slots": faults.slots, "check": faults.check, "frames": launcher.frame,
        "pop": launcher.frames.pop, "push": launcher.frames.append, "ask": ask, "ordinal": launcher.loaded.device.ordinal,
        "again": launcher.again, "note": launcher.driver.recent.append, "name": launcher.name,
        "handle": prepared.handle, "PackError": struct.error,
        **{error.__name__: error for error in _ERRORS},
    }  # fmt: skip
    where = function.__globals__
    taken = {*_LOCAL, *gather.names, *space}
    text = _TEXT.format(
        **ways,
        holds=prepared.watch.condition(where, taken, space),
        values=", ".join(gather.names),
        parts="".join(f"{part}, " for part in gather.parts),
        cells=", ".join(space),
    )
    made: dict[str, Any] = {}
    exec(compile(text, file_of(function), "exec"), where, made)
    launch: Entry = made["make"](**space)
    return launch


def _calling(launcher: Launcher) -> tuple[dict[str, str], dict[str, Any]]:
    """How the values are packed and the driver is called, and what that names."""
    direct = launcher.direct()
    if direct is None:
        ways = {"pack": launcher.pack, "fill": launcher.fill, "enqueue": launcher.enqueue}
        return {
            "into": "frame.parameters, 0, ",
            "config": "",
            "call": "enqueue(x, y, z, stream, frame)",
            "status": "status",
        }, ways
    threads, shared = launcher.binary.threads, launcher.binary.shared
    return {
        "into": f"frame.whole, 0, x, y, z, {threads}, 1, 1, {shared}, stream, 0, 0, ",
        "config": "x, y, z, stream, ",
        "call": "call(frame.start, code, frame.array, None)",
        "status": "status_of(status)",
    }, {
        "pack": direct.pack, "fill": launcher.fill_whole, "call": direct.call,
        "code": direct.code, "status_of": direct.status,
    }  # fmt: skip


def file_of(function: JITFunction) -> str:
    """What generated code says that it is from: like this file, it is none of the user's."""
    return str(Path(__file__).with_name(f"<launch of {function.__name__}>"))
