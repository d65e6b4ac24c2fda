"""A machine that computes otherwise than the step machine, in ways that a compiler may choose.

It runs the same block IR. A seed decides, operation by operation: products go unrounded into sums;
reductions take a random order and tree; scans go one by one; matrix products add truncated terms in
steps, or one by one with `fma`; approximate instructions err by up to what is documented, at random
or all to one side; subnormal numbers become zeros; program instances come in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.bounds import documented
from blockstep.interp.bounds.machine import BoundMachine
from blockstep.interp.bounds.ranges import Ranged, half_unit, units, widened
from blockstep.interp.view import View
from blockstep.ir import Operation
from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.language.op import Family
from blockstep.language.ops.reduce import axis_first

F32 = np.float32
_TRUE: dict[str, Callable[[Any], Any]] = {
    "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt,
}  # fmt: skip


@dataclass(slots=True, eq=False)
class VariedMachine(BoundMachine):
    """One launch, computed in a legal way that the seed picks."""

    seed: int = 0
    random: np.random.Generator = field(init=False)
    side: float = field(init=False)

    def __post_init__(self) -> None:
        BoundMachine.__post_init__(self)
        self.random = np.random.default_rng(self.seed)
        self.side = float(self.random.choice([-1.0, 0.0, 1.0]))  # 0: each element for itself

    def array(self, name: str) -> Any:
        """An argument after the launch."""
        view = self.arguments[name]
        assert isinstance(view, View)
        cell = self.memory.of_view(view)
        dtype = np.dtype(view.dtype.numpy if hasattr(view.dtype, "numpy") else view.dtype)
        offset = int(view.base) - cell.base
        strides = [s * dtype.itemsize for s in view.strides]
        return np.ndarray(view.shape, dtype, cell.data, offset, strides)

    def _evaluate(self, operation: Operation, operands: list[Ranged]) -> list[Ranged]:
        op, name = operation.op, operation.op.name
        kinds = [r.type.scalar for r in operation.results]
        vary = getattr(self, f"vary_{name}", None)
        if vary is not None and kinds[0].is_floating() and name != "map":
            found = vary(operation, operands)
            if found is not None:
                return found if isinstance(found, list) else [found]
        made = BoundMachine._evaluate(self, operation, [_plain(x) for x in operands])
        if op.family is Family.SHAPE and len(operands) == 1 and operands[0].product is not None:
            a, b = (op.meaning(p, **operation.attributes) for p in operands[0].product)  # type: ignore[misc]
            made[0].product = a, b
        return [
            Ranged(m.value, m.kind, product=m.product if op.family is Family.SHAPE else None)
            for m in made
        ]

    # Contraction

    def vary_mul(self, operation: Operation, operands: Sequence[Ranged]) -> Ranged:
        """A product remembers its factors."""
        a, b = (x.value for x in operands)
        made = Ranged(np.asarray(a * b), operands[0].kind)
        if a.dtype in (np.float32, np.float64):
            made.product = (
                np.broadcast_to(a, made.value.shape),
                np.broadcast_to(b, made.value.shape),
            )
        return made

    def _fused(self, operands: Sequence[Ranged], sign: int) -> Ranged | None:
        x, y = operands
        if self.freedom.exact or self.random.random() < 0.3:
            return None
        if x.product is not None and (y.product is None or self.random.random() < 0.5):
            a, b = x.product
            return Ranged(np.asarray(numerics.fma(a, b, y.value if sign > 0 else -y.value)), x.kind)
        if y.product is not None:
            a, b = y.product
            return Ranged(np.asarray(numerics.fma(a if sign > 0 else -a, b, x.value)), x.kind)
        return None

    def vary_add(self, operation: Operation, operands: Sequence[Ranged]) -> Ranged | None:
        """Perhaps as `fma`."""
        return self._fused(operands, 1)

    def vary_sub(self, operation: Operation, operands: Sequence[Ranged]) -> Ranged | None:
        """Perhaps as `fma`."""
        return self._fused(operands, -1)

    # Approximations

    def _about(self, true: Any, ulps: float, relative: float, kind: ty.dtype) -> Ranged:
        """Numbers that are off by at most so much: half a unit is left for the rounding."""
        shape = np.shape(true)
        errs = self.random.uniform(-1, 1, shape) if self.side == 0 else np.full(shape, self.side)
        unit = units(true, kind)
        size = np.maximum(ulps - 0.5, 0) * unit
        size = size + np.maximum(relative * np.abs(true) - 0.5 * unit, 0) * (relative > 0)
        moved = np.where(np.isfinite(true) & (true != 0), true + errs * size, true)
        value = numerics.convert(moved, "float64", kind.codegen_name())
        if kind.is_fp32() and self.random.random() < 0.5:
            value = np.where(np.abs(value) < 2.0**-126, F32(0) * value, value)
        return Ranged(np.asarray(value), kind)

    def _function(self, name: str, x: Ranged) -> Ranged:
        with np.errstate(all="ignore"):
            true = _TRUE[name](widened(x.value, x.kind))
        fast = x.kind.is_fp32() and not self.freedom.exact and name in documented.INSTRUCTIONS
        if fast:
            error = documented.INSTRUCTIONS[name]
            return self._about(true, error.ulps, error.relative, x.kind)
        return self._about(true, documented.LIBRARY[name][int(x.kind.is_fp64())], 0, x.kind)

    def vary_exp(self, operation: Operation, operands: Sequence[Ranged]) -> Ranged | None:
        """2 to a rounded product."""
        (x,) = operands
        if not x.kind.is_fp32() or self.freedom.exact:
            return None
        power = x.value * F32(np.log2(np.e))
        with np.errstate(all="ignore"):
            true = np.exp2(power.astype(np.float64))
        return self._about(true, documented.EX2_APPROX.ulps, 0, x.kind)

    def vary_fdiv(self, operation: Operation, operands: Sequence[Ranged]) -> Ranged | None:
        """`div.full`."""
        x, y = operands
        if not x.kind.is_fp32() or self.freedom.exact:
            return None
        with np.errstate(all="ignore"):
            true = x.value.astype(np.float64) / y.value.astype(np.float64)
        return self._about(true, documented.DIV_FULL.ulps, 0, x.kind)

    # Order

    def vary_reduce(self, operation: Operation, operands: Sequence[Ranged]) -> list[Ranged] | None:
        """Any order: one by one from a shuffled line, or in lanes that are combined at last."""
        region = operation.attributes["region"]
        if not region.operations:  # one of its operands: it does not commute, and must not be here
            return None
        xs = [axis_first(x.value, operation.attributes["axis"]) for x in operands]
        order = self.random.permutation(len(xs[0]))
        xs = [x[order] for x in xs]
        lanes = self._lanes_of(len(order))
        xs = [x.reshape(lanes, -1, *x.shape[1:]) for x in xs]
        fuse = operands[0].product is not None and not self.freedom.exact
        totals = [x[:, 0] for x in xs]
        factors = [axis_first(p, operation.attributes["axis"])[order].reshape(xs[0].shape)
                   for p in operands[0].product] if fuse else []  # type: ignore[union-attr]  # fmt: skip
        sums = region.single is not None and region.single.op.name == "add"
        for i in range(1, xs[0].shape[1]):
            if fuse and sums:
                totals = [np.asarray(numerics.fma(factors[0][:, i], factors[1][:, i], totals[0]))]
            else:
                totals = region.apply(*totals, *[x[:, i] for x in xs])
        result = [t[0] for t in totals]
        for lane in range(1, lanes):
            result = region.apply(*result, *[t[lane] for t in totals])
        return [Ranged(np.asarray(v), x.kind) for v, x in zip(result, operands, strict=True)]

    def _lanes_of(self, n: int) -> int:
        """How many parts of a line are combined one by one, before they are combined one by one."""
        chain = self.freedom.chain
        fit = [k for k in (1, 1, 4, 16, 32) if n % k == 0]
        if chain is not None:
            fit = [k for k in fit if n // k + k - 2 <= chain] or [
                min(fit, key=lambda k: n // k + k)
            ]
        return int(self.random.choice(fit))

    def vary_scan(self, operation: Operation, operands: Sequence[Ranged]) -> list[Ranged]:
        """One by one."""
        told = operation.attributes
        xs = [axis_first(x.value, told["axis"]) for x in operands]
        xs = [x[::-1] for x in xs] if told.get("reverse") else xs
        rows = [[x[0] for x in xs]]
        for i in range(1, len(xs[0])):
            rows.append(told["region"].apply(*rows[-1], *[x[i] for x in xs]))
        found = [np.stack([row[k] for row in rows]) for k in range(len(xs))]
        found = [f[::-1] for f in found] if told.get("reverse") else found
        return [
            Ranged(np.moveaxis(f, 0, told["axis"]), x.kind)
            for f, x in zip(found, operands, strict=True)
        ]

    def vary_dot(self, operation: Operation, operands: Sequence[Ranged]) -> Ranged | None:
        """In steps whose terms are cut to 25 bits of the greatest, or one by one."""
        a, b, *rest = operands
        precision = operation.attributes["precision"]
        if (
            a.kind.is_fp64()
            or not a.kind.is_floating()
            or (a.kind.is_fp32() and precision not in ("tf32", "ieee"))
        ):
            return None
        left, right = (_factor(x, precision) for x in (a, b))
        shape = (
            *np.broadcast_shapes(left.shape[:-2], right.shape[:-2]),
            left.shape[-2],
            right.shape[-1],
        )
        start = (
            np.zeros(shape, F32) if not rest else np.broadcast_to(rest[0].value, shape).astype(F32)
        )
        k = left.shape[-1]
        order = self.random.permutation(k)
        left, right = left[..., order], right[..., order, :]
        step = (
            1
            if a.kind.is_fp32() and precision == "ieee"
            else int(self.random.choice([1, documented.FEWEST_PRODUCTS[a.kind.itemsize], 16]))
        )
        bits = documented.ALIGNMENT[a.kind.itemsize]
        total = start.astype(np.float64)
        for first in range(0, k, step):
            terms = left[..., :, first : first + step, None].swapaxes(-1, -2)[..., :, :, :]
            parts = (
                left[..., :, first : first + step][..., :, :, None]
                * right[..., first : first + step, :][..., None, :, :]
            )
            del terms
            if step == 1:
                total = (total + parts[..., 0, :]).astype(F32).astype(np.float64)
            else:
                total = _aligned(total, parts, bits)
        value = numerics.convert(total, "float64", "float32")
        return Ranged(
            np.asarray(
                numerics.convert(value, "float32", operation.results[0].type.scalar.codegen_name())
            ),
            operation.results[0].type.scalar,
        )


for _name in _TRUE:

    def _vary(self: VariedMachine, operation: Operation, operands: Any, name: str = _name) -> Any:
        return self._function(name, operands[0])

    setattr(VariedMachine, f"vary_{_name}", _vary)


def _plain(x: Ranged) -> Ranged:
    return Ranged(x.value, x.kind)


def _factor(x: Ranged, precision: str) -> Any:
    value = numerics.tf32(x.value) if x.kind.is_fp32() and precision == "tf32" else x.value
    return widened(value, x.kind)


def _aligned(total: Any, parts: Any, bits: int) -> Any:
    """A sum with terms cut to so many bits of the greatest, itself cut to float32."""
    terms = np.concatenate([total[..., None, :], parts], axis=-2)
    _, exponent = np.frexp(np.abs(terms).max(axis=-2, keepdims=True))
    grain = np.ldexp(1.0, exponent - bits)
    found = (np.trunc(terms / grain) * grain).sum(axis=-2)
    _, exponent = np.frexp(found)
    grain = np.ldexp(1.0, exponent - 24)
    return np.trunc(found / grain) * grain


__all__ = ["VariedMachine", "half_unit"]
