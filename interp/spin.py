"""When does one program instance wait? What it repeats, and whether it could ever stop.

Invariant: `Spin` compares only what happened since the instance last altered memory. An atomic or
a volatile load that repeats at one site with the same outcome is waiting. A plain load is waiting
when, besides, the local variables repeat; where they keep changing it is ordinary work.

`turn` counts, whatever happens between, how often in a row a site met the same address, so that an
instance that spins *and* writes (a lock that is taken and given back) can be made to give way.

`fingerprint` reads the user's frames only and compares blocks by value, everything else by
identity; a thing with hidden state (an iterator) never equals its earlier self. It is called on
suspicion only, never in the ordinary course of a kernel.
"""

from collections.abc import Callable, Hashable
from types import FrameType

import numpy as np

from blockstep.interp.breakpoints import is_ours

_PLAIN = (int, float, complex, str, bytes, type(None), np.generic)


class Spin:
    """What one program instance has repeated."""

    __slots__ = ("_last", "_turns", "atomics", "loads")

    def __init__(self) -> None:
        self.atomics: dict[Hashable, Hashable] = {}
        self.loads: dict[Hashable, _Load] = {}
        self._turns: dict[Hashable, list[int]] = {}
        self._last: tuple[int, Hashable] | None = None

    def __bool__(self) -> bool:
        return bool(self._turns or self.atomics)

    def forget(self) -> None:
        self.atomics.clear()
        self.loads.clear()

    def turn(self, site: Hashable, address: int) -> int:
        """How often in a row `site` has met `address`, this time included."""
        turns = self._turns.get(site)
        if turns is None or turns[0] != address:
            self._turns[site] = [address, 1]
            return 1
        turns[1] += 1
        return turns[1]

    def repeats(self, site: Hashable, seen: Hashable) -> bool:
        """Whether the atomic at `site` came out as it did the last time."""
        if self.atomics.get(site, self) == seen:
            return True
        self.atomics[site] = seen
        return False

    def load_repeats(self, site: Hashable, seen: Hashable, state: Callable[[], Hashable]) -> bool:
        """Whether a plain load at `site` is one more turn of a wait."""
        load = self.loads.get(site)
        if load is None or load.seen != seen:
            self.loads[site] = _Load(seen)
            return False
        return load.waits(state)

    def same_state(self, version: int, state: Callable[[], Hashable]) -> bool:
        """Whether neither memory nor the instance changed since its last look.

        The state is taken only if memory stood still meanwhile.
        """
        last = self._last
        if last is None or last[0] != version:
            self._last = (version, self)
            return False
        now = state()
        self._last = (version, now)
        return now == last[1]


class _Load:
    """A plain load that keeps coming out as `seen`."""

    __slots__ = ("_count", "_next", "_state", "_waiting", "seen")

    def __init__(self, seen: Hashable) -> None:
        self.seen = seen
        self._count = 0
        self._next = 2  # then ever more rarely: comparing locals is dear
        self._waiting = False
        self._state: Hashable = None

    def waits(self, state: Callable[[], Hashable]) -> bool:
        """Compare the locals of turns `_next` and `_next` + 1; once equal, they stay so."""
        self._count += 1
        if self._count == self._next:
            self._state = state()
        elif self._count == self._next + 1 and not self._waiting:
            self._waiting = state() == self._state
            self._next *= 2
        return self._waiting


def fingerprint(frame: FrameType | None) -> Hashable:
    """The user's frames from `frame` outwards: where each stands, and its locals."""
    state: list[Hashable] = []
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_begin_fresh" and is_ours(code.co_filename):
            break
        if not is_ours(code.co_filename):
            state.append((id(code), frame.f_lasti))
            state.extend((name, _token(value)) for name, value in frame.f_locals.items())
        frame = frame.f_back
    return tuple(state)


def _token(value: object) -> Hashable:
    """Something that is equal only for values that a kernel cannot tell apart."""
    handle = getattr(value, "handle", value)
    if isinstance(handle, np.ndarray):
        return handle.dtype.str, handle.shape, handle.tobytes()
    if isinstance(handle, _PLAIN):
        return type(handle), repr(handle)
    if isinstance(value, tuple | list):
        return tuple(_token(item) for item in value)
    if hasattr(value, "__next__"):
        return object()
    return id(value)
