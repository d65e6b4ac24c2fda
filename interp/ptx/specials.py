"""Registers that the hardware fills in: `%tid.x`, `%laneid`, `%clock64` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from blockstep.interp.ptx.frame import LANES, Bits

if TYPE_CHECKING:
    from blockstep.interp.ptx.batch import Batch

MOVING = frozenset(
    {"%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"}
)
_WIDE = frozenset({"%clock64", "%globaltimer", "%gridid"})
_AXES = ("x", "y", "z")
_BY_AXIS = ("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid",
            "%cluster_nctaid")  # fmt: skip
_PLAIN = frozenset({
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%lanemask_eq",
    "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%cluster_ctarank",
    "%cluster_nctarank", "%total_smem_size", "%dynamic_smem_size", "%aggr_smem_size",
    "%is_explicit_cluster",
})  # fmt: skip


def width_of(name: str, fail: Callable[[str], NoReturn]) -> str:
    """The type of a hardware register; `fail` is called for one that is not known."""
    base, _, axis = name.partition(".")
    if not (name in _PLAIN or name in MOVING or (base in _BY_AXIS and axis in (*_AXES, "w"))):
        fail(name)
    if name == "%is_explicit_cluster":
        return "pred"
    return "b64" if name in _WIDE else "b32"


def value_of(name: str, batch: Batch) -> Bits:
    """The value of a hardware register that stays as it is, for the threads of a batch."""
    base, _, axis = name.partition(".")
    if axis == "w":
        return _scalar(0)
    if axis:
        return _by_axis(base, _AXES.index(axis), batch)
    tid = np.arange(batch.threads, dtype=np.int64)[None]
    lane = tid % LANES
    if name.startswith("%lanemask"):
        return _lane_mask(name[-2:], lane)
    found: Any = {
        "%laneid": lane, "%warpid": tid // LANES, "%nwarpid": -(-batch.threads // LANES),
        "%smid": batch.grid_index % batch.processors, "%nsmid": batch.processors, "%gridid": 1,
        "%cluster_ctarank": batch.grid_index % batch.cluster, "%cluster_nctarank": batch.cluster,
        "%total_smem_size": batch.memory.shared_size, "%aggr_smem_size": batch.memory.shared_size,
        "%dynamic_smem_size": batch.dynamic_shared,
    }.get(name)  # fmt: skip
    if name == "%is_explicit_cluster":
        return np.full((1, 1), batch.cluster > 1)
    kind = np.uint64 if name in _WIDE else np.uint32
    return np.asarray(found).astype(kind).reshape(np.shape(found) or (1, 1))


def _by_axis(base: str, axis: int, batch: Batch) -> Bits:
    block, grid, cluster = batch.block, batch.grid, batch.cluster_shape
    if base == "%tid":
        return _coordinate(np.arange(batch.threads)[None], block, axis)
    if base == "%ctaid":
        return batch.position[axis]
    if base == "%clusterid":
        return batch.position[axis] // np.uint32(cluster[axis])
    if base == "%cluster_ctaid":
        return batch.position[axis] % np.uint32(cluster[axis])
    whole = tuple([-(-n // c) for n, c in zip(grid, cluster, strict=True)])
    return _scalar(
        {"%ntid": block, "%nctaid": grid, "%nclusterid": whole, "%cluster_nctaid": cluster}[base][
            axis
        ]
    )


def _coordinate(linear: Bits, shape: tuple[int, ...], axis: int) -> Bits:
    for n in shape[:axis]:
        linear = linear // n
    return (linear % shape[axis]).astype(np.uint32)


def _lane_mask(which: str, lane: Bits) -> Bits:
    one = np.uint64(1) << lane.astype(np.uint64)
    below = one - np.uint64(1)
    found = {"eq": one, "lt": below, "le": below | one, "ge": ~below, "gt": ~(below | one)}[which]
    return found.astype(np.uint32)


def _scalar(value: int) -> Bits:
    return np.full((1, 1), value, np.uint32)
