"""The files of instructions that do more than compute: loading them enters their makers."""

from blockstep.interp.ptx.isa import (  # noqa: F401
    atomics,
    calls,
    copies,
    matrices,
    mbarriers,
    memory,
    sync,
    tensormaps,
    tensors,
    warps,
    wgmma,
)
