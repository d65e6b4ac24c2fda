"""`blockstep dump --resources`: what a compiled kernel takes of the device, in a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockstep.diagnostics.words import plural
from blockstep.occupancy import occupancy
from blockstep.target import KIB, Target

WIDTH = 12
_BE = {"registers": "are", "shared memory": "is"}


@dataclass(frozen=True, slots=True)
class Resources:
    """What one CTA of `threads` needs. Spills and stack are bytes of one thread, as the assembler
    counts them; shared memory is bytes of the CTA, allocated statically and at the launch."""

    threads: int
    registers: int
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    static_shared: int = 0
    dynamic_shared: int = 0

    @property
    def shared(self) -> int:
        """All shared memory of a CTA in bytes."""
        return self.static_shared + self.dynamic_shared


def resources_text(
    name: str, target: Target, needs: Resources, warnings: Sequence[str] = ()
) -> str:
    """The resources of kernel `name` on `target`, a fact a line, and what the assembler warned of.

    matmul_kernel on NVIDIA H200: 4 warps
      registers   168 a thread, no spills
      shared      96.0 KiB a CTA (227 KiB possible)
      occupancy   2 CTAs and 8 of 64 warps a multiprocessor (12 %), limited by shared memory
    """
    warps = -(-needs.threads // target.warp_size)
    facts = {
        "registers": f"{needs.registers} a thread, {_spills(needs)}",
        "stack": f"{needs.stack} bytes a thread" if needs.stack else "",
        "shared": _shared(target, needs),
        "occupancy": _occupancy(target, needs),
    }
    lines = [f"  {fact:{WIDTH}}{text}" for fact, text in facts.items() if text]
    warned = [f"  {'warning':{WIDTH}}{text}" for text in warnings]
    return "\n".join([f"{name} on {target.title}: {plural(warps, 'warp')}", *lines, *warned])


def _spills(needs: Resources) -> str:
    if not needs.spill_stores and not needs.spill_loads:
        return "no spills"
    return f"spills {needs.spill_stores} bytes out and {needs.spill_loads} bytes in"


def _shared(target: Target, needs: Resources) -> str:
    possible = f"{target.shared_per_block // KIB} KiB possible"
    return f"{size(needs.shared)} a CTA ({possible})" if needs.shared else "none"


def _occupancy(target: Target, needs: Resources) -> str:
    fits = occupancy(target, needs.threads, needs.registers, needs.shared)
    if not fits.ctas:
        return f"no CTA fits: one takes more {fits.limit} than there {_BE[fits.limit]}"
    return (
        f"{plural(fits.ctas, 'CTA')} and {fits.warps} of {fits.warps_possible} warps a "
        f"multiprocessor ({100 * fits.share:.0f} %), limited by {fits.limit}"
    )


def size(number: int) -> str:
    """Bytes for people: `512 bytes`, `96.0 KiB`."""
    return f"{number} bytes" if number < KIB else f"{number / KIB:.1f} KiB"
