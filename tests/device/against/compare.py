"""Bits against bits: how the buffers that two implementations left differ, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tests.device.against.case import STORED, Array, Case

EXAMPLES = 4
FAR = 1 << 62  # a NaN against a number


@dataclass(slots=True)
class Outcome:
    """`differing` of `elements` have other bits; `flushed` of those are about subnormal float32
    numbers; `wrong` break the case's rule. `refused`: the compiler's words, if there was no launch."""

    key: str
    rule: str
    limit: float
    elements: int = 0
    differing: int = 0
    flushed: int = 0
    wrong: int = 0
    ulps: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)
    refused: str = ""


def load(paths: Sequence[Path]) -> dict[str, bytes]:
    """What the runs saved, by name."""
    found: dict[str, bytes] = {}
    for path in paths:
        with np.load(path) as held:
            data, start = held["data"].tobytes(), 0
            for name, end in zip(held["names"].tolist(), held["ends"].tolist(), strict=True):
                found[name] = data[start:end]
                start = end
    return found


def is_nan(x: Array) -> Array:
    with np.errstate(all="ignore"):
        return (
            np.isnan(x.astype(np.float64)) if x.dtype.kind not in "biu" else np.zeros(x.shape, bool)
        )


def codes(x: Array) -> Array:
    """The bits as unsigned integers, with one pattern for all NaNs."""
    raw = x.view(f"u{x.dtype.itemsize}") if x.dtype.kind != "b" else x.view(np.uint8)
    return np.where(is_nan(x), np.iinfo(raw.dtype).max, raw)


def ulps(x: Array, y: Array) -> Array:
    """How many numbers of the format lie between x and y; FAR for a NaN against a number."""
    bits = x.dtype.itemsize * 8
    places = []
    for value in (x, y):
        code = value.view(f"u{x.dtype.itemsize}").astype(object)
        low = code & ((1 << (bits - 1)) - 1)
        places.append(np.where(code >> (bits - 1) == 1, -low, low))
    distance = abs(places[0] - places[1])
    nan, other = is_nan(x), is_nan(y)
    distance[nan & other] = 0
    distance[nan ^ other] = FAR
    return np.asarray(np.minimum(distance, FAR), np.int64)


def subnormal(x: Array) -> Array:
    """Whether these are subnormal float32 numbers."""
    if x.dtype != np.float32:
        return np.zeros(x.shape, bool)
    return np.asarray((x != 0) & (abs(x) < np.float32(2.0**-126)))


def _vanishing(x: Array, y: Array) -> Array:
    """Whether one is 0 and the other is the least normal float32 number: flushed, then rounded."""
    if x.dtype != np.float32:
        return np.zeros(x.shape, bool)
    return np.asarray(np.maximum(abs(x), abs(y)) == np.float32(2.0**-126))


def judge(case: Case, filled: list[Array], ours: list[bytes], theirs: list[bytes]) -> Outcome:
    """Every compared buffer of one case."""
    outcome = Outcome(case.key, case.rule, case.limit)
    compared = [b for b in case.buffers if b.compared]
    outputs = []
    for buffer, our, their in zip(compared, ours, theirs, strict=True):
        stored = STORED[buffer.kind]
        x, y = np.frombuffer(our, stored), np.frombuffer(their, stored)
        if case.rule == "sorted":
            x, y = _sorted(x), _sorted(y)
        outputs.append((x, y))
    for x, y in outputs:
        inputs = [a.reshape(-1) for a, b in zip(filled, case.buffers, strict=True)
                  if b.make is not None and a.size == x.size]  # fmt: skip
        _buffer(case, outcome, inputs, filled, x, y)
    return outcome


def _sorted(x: Array) -> Array:
    return x[np.argsort(codes(x), kind="stable")]


def _buffer(
    case: Case, outcome: Outcome, inputs: list[Array], filled: list[Array], x: Array, y: Array
) -> None:
    outcome.elements += x.size
    differs = codes(x) != codes(y)
    if not differs.any():
        return
    where = np.nonzero(differs)[0]
    near = subnormal(x[where]) | subnormal(y[where]) | _vanishing(x[where], y[where])
    for one in inputs:
        near |= subnormal(one[where])
    real = x.dtype.kind not in "biu"
    apart = ulps(x[where], y[where]) if real else np.full(where.size, FAR)
    wrong = _wrong(case, filled, x[where], y[where], where, apart, near)
    counted = apart[~near & (apart < FAR)]
    outcome.differing += where.size
    outcome.flushed += int(near.sum())
    outcome.wrong += int(wrong.sum())
    if counted.size:
        outcome.ulps = max(outcome.ulps, int(counted.max()))
    order = np.argsort(~wrong, kind="stable")[: EXAMPLES - len(outcome.examples)]
    for i in order:
        at = where[i]
        outcome.examples.append({
            "at": int(at), "inputs": [_text(one, at) for one in inputs],
            "blockstep": _text(x, at), "triton": _text(y, at),
        })  # fmt: skip


def _wrong(
    case: Case, filled: list[Array], x: Array, y: Array, where: Array, apart: Array, near: Array
) -> Array:
    if case.rule == "recorded":
        return np.zeros(where.size, bool)
    if case.rule == "ulps":
        return ~near & (apart > case.limit)
    if case.rule == "absolute":
        assert case.bound is not None
        with np.errstate(all="ignore"):
            distance = abs(x.astype(np.float64) - y.astype(np.float64))
            allowed = np.asarray(case.bound(filled)).reshape(-1)[where]
            own = abs(y.astype(np.float64)) * float(ml_dtypes.finfo(x.dtype).eps)
        return ~(distance <= allowed + own)
    return np.ones(where.size, bool)


def _text(array: Array, at: int) -> str:
    """The number and its bits."""
    bits = array[at : at + 1].view(f"u{array.dtype.itemsize}")[0]
    return f"{array[at]} (0x{int(bits):0{2 * array.dtype.itemsize}x})"
