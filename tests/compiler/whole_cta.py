"""The CTA in NumPy for all that kernels without matrix units and libdevice are made of: arithmetic of
every kind, intrinsics, inline PTX, the grid, and local memory.

Global memory is watched as shared memory is: between two barriers no lane may touch what another one
writes, since lanes of a CTA do not run in step. Inline PTX of registers alone is run by the language's own evaluator of it. What LLVM leaves undefined
(a shift by the width or more) is noise, so that a result that depends on it is wrong in some run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.language import numerics
from blockstep.language.assembly import Program
from tests.compiler.atomic_cta import AtomicCta
from tests.compiler.simt import Array, _kind, _split, _typed
from tests.compiler.watched import Shared

LOCAL_WINDOW = 1 << 40  # where local memory begins, as an address
_AXES = {"x": 0, "y": 1, "z": 2}
_MEMORY = re.compile(r"\b(ld|st|atom|red|fence|griddepcontrol|cp)\.|%globaltimer")
_NO_EFFECT = ("fence.", "griddepcontrol.")


def signed(x: Array) -> Array:
    """The same bits as signed integers."""
    return np.ascontiguousarray(x).view(x.dtype.str.replace("u", "i"))


def _least(x: Array, y: Array) -> Array:
    """The number beside NaN; -0 is below +0."""
    chosen = np.fmin(x, y)
    return np.where((x == y) & np.signbit(x), x, np.where((x == y) & np.signbit(y), y, chosen))


def _most(x: Array, y: Array) -> Array:
    return -_least(-x, -y)


def _propagating(how: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda x, y: np.where(np.isnan(x) | np.isnan(y), x + y, how(x, y))


_INTRINSICS: dict[str, Callable[..., Array]] = {
    "fabs": np.abs, "trunc": np.trunc, "floor": np.floor, "ceil": np.ceil,
    "fma": lambda x, y, z: np.asarray(numerics.fma(x, y, z)),
    "abs": lambda x, _: np.abs(signed(x)).view(x.dtype),
    "minnum": _least, "maxnum": _most,
    "minimum": _propagating(_least), "maximum": _propagating(_most),
}  # fmt: skip
_INTEGERS = {"i": np.int32, "ui": np.uint32, "ll": np.int64, "ull": np.uint64}
_TO_INTEGER = re.compile(r"llvm\.nvvm\.[fd]2(i|ui|ll|ull)\.rz")


def saturated(x: Array, kind: Any) -> Array:
    """Toward zero, what is too large to the nearest integer there is. NaN gives 0, and the highest
    bit alone where a side has 64 bits."""
    limits = np.iinfo(kind)
    wide = np.trunc(np.where(np.isnan(x), 0, x).astype(np.float64))
    above, below = wide >= float(limits.max), wide <= float(limits.min)
    made = np.where(above | below, 0, wide).astype(kind)
    found = np.where(above, limits.max, np.where(below, limits.min, made)).astype(kind)
    if 8 in (x.dtype.itemsize, found.itemsize):
        bits = found.view(f"u{found.itemsize}")
        bits[np.isnan(x)] = 1 << (8 * found.itemsize - 1)
    return found


def _high_product(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    exact = (int(a) * int(b) >> bits for a, b in zip(x, y, strict=True))
    return np.fromiter(exact, x.dtype, len(x))


class WholeCta(AtomicCta):
    """A program instance at `place` of a grid of `size`."""

    def __init__(
        self, *told: Any, place: tuple[int, int, int] = (0, 0, 0),
        size: tuple[int, int, int] = (1, 1, 1),
    ) -> None:  # fmt: skip
        super().__init__(*told)
        self.place, self.size = place, size
        self.local = np.zeros((self.threads, 0), np.uint8)
        self.clock = 0
        self.watched = Shared(len(self.memory))

    # ---- arithmetic

    def _fdiv(self, rest: str) -> Array:
        a, b = self._two(rest)
        return a / b

    def _fneg(self, rest: str) -> Array:
        return -self.value(*_typed(rest))

    def _shift(self, rest: str, how: Callable[[Array, Array], Array]) -> Array:
        type, _ = _typed(rest)
        a, b = self._two(rest)
        past = b >= 8 * a.dtype.itemsize
        return np.where(past, self.value(type, "poison"), how(a, np.where(past, 0, b)))

    def _shl(self, rest: str) -> Array:
        return self._shift(rest, lambda a, b: (a << b).astype(a.dtype))

    def _lshr(self, rest: str) -> Array:
        return self._shift(rest, lambda a, b: (a >> b).astype(a.dtype))

    def _ashr(self, rest: str) -> Array:
        return self._shift(rest, lambda a, b: (signed(a) >> signed(b)).view(a.dtype))

    def _divided(self, rest: str, like: Callable[[Array], Array], quotient: bool) -> Array:
        x, y = self._two(rest)
        a, b = like(x), like(y)
        rest_ = np.fmod(a, b)
        return ((a - rest_) // b if quotient else rest_).astype(a.dtype).view(x.dtype)

    def _sdiv(self, rest: str) -> Array:
        return self._divided(rest, signed, True)

    def _udiv(self, rest: str) -> Array:
        return self._divided(rest, np.asarray, True)

    def _srem(self, rest: str) -> Array:
        return self._divided(rest, signed, False)

    def _urem(self, rest: str) -> Array:
        return self._divided(rest, np.asarray, False)

    def _fptoui(self, rest: str) -> Array:
        value, _, target = rest.rpartition(" to ")
        return self.value(*_typed(value)).astype(_kind(target)[1])

    # ---- memory

    def _read(
        self, name: str, on: Array, targets: list[int], at: Array, places: dict[int, Array]
    ) -> None:
        self._touch(name, on, at, len(targets), "read")
        super()._read(name, on, targets, at, places)

    def _write(self, name: str, on: Array, at: Array, words: list[Array]) -> None:
        self._touch(name, on, at, len(words), "write")
        super()._write(name, on, at, words)

    def _touch(self, name: str, on: Array, at: Array, count: int, how: str) -> None:
        size = int(name.rsplit("b", 1)[1]) // 8 * count
        for lane in np.flatnonzero(on):
            self.watched.touch(int(lane), int(at[lane]), size, how)

    def _alloca(self, rest: str) -> Array:
        match = re.match(r"\[(\d+) x i8\]", rest)
        assert match is not None, rest
        start = self.local.shape[1]
        self.local = np.pad(self.local, ((0, 0), (0, int(match[1]))))
        return np.full(self.threads, LOCAL_WINDOW + start, np.uint64)

    def _store(self, rest: str) -> None:
        value, pointer, *_ = _split(rest)
        at = self.value(*_typed(pointer))
        if at.min() < LOCAL_WINDOW:
            return super()._store(rest)
        raw = np.ascontiguousarray(self.value(*_typed(value))).reshape(self.threads, -1)
        start = int(at[0]) - LOCAL_WINDOW
        raw = raw.view(np.uint8)
        self.local[self.active, start : start + raw.shape[1]] = raw[self.active]

    def _addrspacecast(self, rest: str) -> Array:
        return np.zeros(self.threads, np.uint64)

    # ---- calls

    def _call(self, rest: str) -> Any:
        match = re.match(r"(.*?) @([\w.]+)\((.*)\)", rest)
        if " asm " in rest or match is None:
            return self._assembly(rest)
        name = match[2]
        place = re.search(r"sreg\.(n?)ctaid\.(\w)", name)
        if place is not None:
            told = self.size if place[1] else self.place
            return np.full(self.threads, told[_AXES[place[2]]], np.uint32)
        if name.endswith("sreg.smid"):  # program instances are dealt to multiprocessors in order
            return np.full(self.threads, self.place[0], np.uint32)
        if name in ("llvm.assume", "vprintf"):
            return np.zeros(self.threads, np.uint32)
        operands = [self.value(*_typed(part)) for part in _split(match[3])]
        if "barrier.cta.red.or" in name or "vote.any" in name:
            self.shared.epoch()
            self.watched.epoch()
            return np.full(self.threads, operands[1].any())
        if (found := _TO_INTEGER.fullmatch(name)) is not None:
            kind = _INTEGERS[found[1]]
            return saturated(operands[0], kind).view(_kind(match[1])[1])
        if "mulhi" in name:
            return _high_product(*operands)
        compute = _INTRINSICS.get(name.split(".")[1]) if name.startswith("llvm.") else None
        if compute is not None:
            return np.asarray(compute(*operands), operands[0].dtype)
        if "barrier" in name or "bar.warp" in name:
            self.watched.epoch()
        return super()._call(rest)

    def _assembly(self, rest: str) -> Any:
        match = re.search(r'asm (?:sideeffect )?"(.*?)", "(.*?)"\((.*)\)', rest)
        assert match is not None, rest
        if _MEMORY.search(match[1]):
            return super()._assembly(rest)
        result = rest.split(" asm ")[0].strip()
        words = [_word(self.value(*_typed(part))) for part in _split(match[3])]
        found = Program(match[1], match[2]).run(words)
        types = _split(result.strip("{} "))
        values = [_from_word(w, _kind(t)[1]) for w, t in zip(found, types, strict=True)]
        if len(values) > 1:
            self.values.update({f"{self.pending}.{i}": v for i, v in enumerate(values)})
        return values[0]

    def _statement(self, text: str, places: dict[int, Array]) -> None:
        if text.startswith(_NO_EFFECT):
            return
        if "%globaltimer" in text:
            self.clock += 1
            places[0] = np.full(self.threads, self.clock, np.uint64)
            return
        super()._statement(text, places)


def _word(x: Array) -> Array:
    """The bits in a register of 64."""
    x = np.ascontiguousarray(x)
    return x.view(f"u{x.dtype.itemsize}").astype(np.uint64)


def _from_word(word: Any, kind: Any) -> Array:
    size = np.dtype(kind).itemsize
    bits = np.ascontiguousarray(np.asarray(word).astype(f"u{size}"))
    return bits.view(kind)
