"""How many CTAs of a kernel a multiprocessor holds at once, from what one CTA needs.

The rules are those of the CUDA occupancy calculator for compute capability 8.0 and later: a warp
gets its registers in units, in one partition; the check that a single CTA fits counts its warps in
full rows of the partitions; shared memory is rounded up and includes what the system keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.target import Target


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What is resident on one multiprocessor. `limit` says what there would have to be more of:
    "registers", "shared memory", "the number of warps" or "the number of CTAs"."""

    ctas: int
    warps: int
    warps_possible: int
    limit: str

    @property
    def share(self) -> float:
        """The resident warps as a part of those that are possible."""
        return self.warps / self.warps_possible


def occupancy(target: Target, threads: int, registers: int, shared: int) -> Occupancy:
    """The occupancy of CTAs of `threads`, with `registers` a thread and `shared` bytes a CTA.

    No CTA fits where it needs more than there is. Raises ValueError for a device without CUDA's
    rules."""
    if target.backend != "cuda":
        raise ValueError(f"the occupancy of {target.title} is not known")
    warps = _up(threads, target.warp_size) // target.warp_size
    limits = {
        "the number of warps": target.warps_per_multiprocessor // warps,
        "the number of CTAs": target.blocks_per_multiprocessor,
        "registers": _by_registers(target, warps, registers),
        "shared memory": _by_shared(target, shared),
    }
    limit = min(limits, key=lambda name: limits[name])
    ctas = limits[limit]
    return Occupancy(ctas, ctas * warps, target.warps_per_multiprocessor, limit)


def _by_registers(target: Target, warps: int, registers: int) -> int:
    of_warp = _up(max(registers, 1) * target.warp_size, target.register_unit)
    if of_warp * _up(warps, target.partitions) > target.registers_per_block:
        return 0
    in_partition = target.registers_per_multiprocessor // target.partitions // of_warp
    return in_partition * target.partitions // warps


def _by_shared(target: Target, shared: int) -> int:
    if shared > target.shared_per_block:
        return 0
    return target.shared_per_multiprocessor // _up(
        shared + target.shared_reserved, target.shared_unit
    )


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
