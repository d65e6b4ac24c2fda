"""The short way to a launch: what a call like this one found out before is launched again.

For each form in which a kernel is called, a function is written that reads a key off the arguments
(`signature`) and finds the launch that was prepared for it (`entry`). If nothing that it depends on
has changed, it packs the values and enqueues; a host of the device spends most of a launch here, so
what could be a loop or a call is written out.

Invariant: it launches exactly what the long way would, or takes the long way with nothing done. It
takes only arrays in device memory, so it never copies, waits or allocates.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from blockstep import knobs
from blockstep.language.function import SHORT, JITFunction
from blockstep.runtime import session
from blockstep.runtime.arguments import Bound
from blockstep.runtime.gpu.entry import Entry, Prepared, entry, file_of
from blockstep.runtime.gpu.faults import Faults
from blockstep.runtime.gpu.host_arrays import arrays_of, devices_hold
from blockstep.runtime.gpu.launcher import Launcher
from blockstep.runtime.gpu.selection import may_want
from blockstep.runtime.gpu.signature import Form, Reading, Slow, form_of, reader, reading, tuple_of
from blockstep.runtime.gpu.streams import cupy_stream, is_cupy, torch_stream
from blockstep.runtime.gpu.watch import Watch

Grid = tuple[int, int, int]
MOST_X = ((1 << 31) - 1) // 16  # program instances of up to 16 CTAs that every device takes
MOST_YZ = 65535
UNKNOWN = (KeyError, Slow, TypeError, AttributeError, RuntimeError)
"""What reading raises for arguments that only the long way understands."""
_KEPT = "shortcut"


def debugging(function: JITFunction) -> tuple[Any, Any]:
    """What besides the call's own options decides whether assertions are compiled."""
    return function.debug, knobs.runtime.debug


class Last:
    """The key and the launch that calls of one form had last."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: tuple[Any, Entry | None] = None, None


class Shortcut:
    """The short way to the launches of one jit function."""

    def __init__(self, function: JITFunction, faults: Faults) -> None:
        self._function = function
        self._faults = faults
        self._entries: dict[Any, Entry] = {}  # by key; keys of all forms are of one kind
        self._made: dict[Any, tuple[Launcher, Watch]] = {}  # by key: what its entry is for
        self._launches: dict[Form, Callable[..., Any]] = {}
        self._reader = functools.cache(functools.partial(reader, function.params))
        self.allowed: Any = None  # the options under which the last launch went this way

    @classmethod
    def of(cls, function: JITFunction, faults: Faults) -> Shortcut:
        """The one of a jit function."""
        found = function.device_caches.get(_KEPT)
        if found is None:
            found = function.device_caches[_KEPT] = cls(function, faults)
        return found

    def add(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], bound: Bound, prepared: Prepared
    ) -> None:
        """Let later calls like this one be short, if they can be."""
        arrays = arrays_of(bound)
        if not arrays or not all(devices_hold(bound, a.view) for a in arrays if a.view is not None):
            return
        stream = _asker([a.value.base if a.kind == "descriptor" else a.value for a in arrays])
        if stream is None:
            return
        form = form_of(args, kwargs)
        try:
            key = (*self._reader(form)(args, kwargs)[0], *prepared.debug)
            known = self._made.get(key)
        except UNKNOWN:
            return
        made = prepared.launcher, prepared.watch
        if known == made and form in self._launches:
            return  # it went the long way for a hook, say; writing takes a thousand times as long
        self._made[key] = made
        self._entries[key] = entry(self._function, prepared, self._faults, stream)
        self._function.device_caches[SHORT] = self._written(form)

    def _written(self, form: Form) -> Callable[..., Any]:
        """The function `launch(grid, *args, **kwargs)`, which is quick for calls of this form. It is
        written anew after each `add`, and so has no last launch that is out of date."""
        made = reading(self._function.params, form)
        space = made.space | {
            "last": Last(), "entries": self._entries, "shortcut": self, "knobs": knobs,
            "function": self._function, "session": session, "opened": session._open,
            "gettrace": sys.gettrace, "local": session._local.get, "size_of": _size,
            "UNKNOWN": UNKNOWN, "Slow": Slow, "MOST_X": MOST_X, "otherwise": self._otherwise,
            "form": form,
        }  # fmt: skip
        exec(compile(_text(made), file_of(self._function), "exec"), space)
        launch: Callable[..., Any] = space["launch"]
        self._launches[form] = launch
        return launch

    def allows(self, current: session.Session) -> bool:
        """Whether launches may go to the device in this session."""
        if not may_want(current) or current.options.judged:
            return False
        self.allowed = current.options
        return True

    def _otherwise(
        self, form: Form, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A launch that was not one of `form`, or could not be short."""
        __tracebackhide__ = True
        here = form_of(args, kwargs)
        launch = None if here == form else self._launch_of(here)
        if launch is None:
            return self._function._launch(args, kwargs, grid, False)
        self._function.device_caches[SHORT] = launch  # the next call is likely to be like this one
        return launch(grid, *args, **kwargs)

    def _launch_of(self, form: Form) -> Callable[..., Any] | None:
        """The function for a form; None if such a call does not bind."""
        try:
            return self._launches.get(form) or self._written(form)
        except Slow:
            return None


_TEXT = """
def launch(grid, /, *args, **kwargs):
    __tracebackhide__ = True
    try:
        if not ({fits}): raise Slow
        {lines}
        runtime = knobs.runtime
        key = {key}
        before, enqueue = last.used
        if key != before:
            enqueue = entries[key]
            last.used = key, enqueue
        if (
            function.pre_run_hooks
            or runtime.launch_enter_hook.calls
            or runtime.launch_exit_hook.calls
            or gettrace() is not None
        ):
            raise Slow
        current = local()
        if current is None:
            current = opened[-1] if opened else session._process
        if current.options is not shortcut.allowed or current.on_instance is not None:
            if not shortcut.allows(current): raise Slow
        size = grid
        if type(size) is not tuple:
            size = grid({given})
        if type(size) is tuple and len(size) == 1:
            x, = size
            y = z = 1
            if type(x) is not int or not 0 < x <= MOST_X: raise Slow
        else:
            x, y, z = size_of(size)
    except UNKNOWN:
        pass
    else:
        done = enqueue(x, y, z, {values})
        if done is not None:
            return done
    return otherwise(form, grid, args, kwargs)
"""


def _text(made: Reading) -> str:
    """The text of `launch` for one form."""
    return _TEXT.format(
        fits=made.fits,
        lines="\n        ".join(made.lines),
        key=tuple_of([*made.keys, "function.debug", "runtime.debug"]),
        given=f"{{{', '.join(made.given)}}}",
        values=", ".join(made.values),
    )


def _size(grid: Any) -> Grid:
    """A grid of one to three positive integers that every device takes. Raises Slow for any other,
    which the long way looks at."""
    if type(grid) is not tuple or not 1 <= len(grid) <= 3:
        raise Slow
    for size in grid:
        if type(size) is not int or size <= 0:
            raise Slow
    x, y, z = (*grid, 1, 1)[:3]
    if x > MOST_X or y > MOST_YZ or z > MOST_YZ:
        raise Slow
    return x, y, z


def _asker(arrays: list[Any]) -> Callable[[int], int] | None:
    """What tells the stream of launches on such arrays; None where each has to be asked."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(x, torch.Tensor) for x in arrays):
        return torch_stream()
    if all(is_cupy(x) for x in arrays):
        return cupy_stream()
    return None
