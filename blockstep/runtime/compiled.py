"""What a launch or a warm-up returns: `CompiledKernel`.

On the machines that interpret nothing is compiled, so `asm` is empty, and registers and shared memory are
nominal figures: enough for host code that divides by them to size a grid, and no statement about the chip.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

NOMINAL_REGISTERS = 32
NOMINAL_SHARED_PER_WARP = 4


class CompiledKernel:
    """A kernel as bound by one launch."""

    launch_enter_hook: Any = None
    launch_exit_hook: Any = None

    def __init__(self, src: Any, options: dict[str, Any], name: str, threads: int) -> None:
        self.src = src
        self.name = name
        self.asm: dict[str, Any] = {}
        warps = int(options.get("num_warps", 4))
        self.metadata = SimpleNamespace(
            **{"num_warps": warps, "num_ctas": 1, "num_stages": 3, **options},
            shared=NOMINAL_SHARED_PER_WARP * warps,
            name=name,
        )
        self.n_regs = NOMINAL_REGISTERS
        self.n_spills = 0
        self.n_max_threads = threads
        self.module: Any = None
        self.function: Any = None
        self.kernel: Any = b""
        self.hash = name

    def _init_handles(self) -> None:
        """There is no module to load."""

    @property
    def run(self) -> Any:
        """The launcher, for code that launches a compiled kernel itself."""
        return self.src.fn.run if hasattr(self.src, "fn") else self.src.run

    def __getitem__(self, grid: Any) -> Any:
        """Launch again over `grid`."""
        return self.src[grid]
