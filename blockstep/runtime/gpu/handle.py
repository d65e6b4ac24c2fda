"""`GPUKernel`: what a launch on the gpu machine returns, with what the driver says of the code."""

from __future__ import annotations

from typing import Any

from blockstep import knobs
from blockstep.runtime.compiled import Code, CompiledKernel
from blockstep.runtime.gpu.loading import Loaded


class GPUKernel(CompiledKernel):
    """A compiled kernel on a device: registers, spills and shared memory are the code's own."""

    def __init__(self, src: Any, options: dict[str, Any], name: str, loaded: Loaded) -> None:
        binary = loaded.binary
        super().__init__(src, options, name, loaded.threads_limit)
        self.loaded = loaded
        self.asm = Code(binary.asm)
        kind = "ptx" if isinstance(binary.image, str) else "cubin"
        self.asm.setdefault(kind, binary.image)
        self.kernel = self.asm[kind]
        self.metadata.shared = binary.shared + loaded.static_shared
        self.metadata.num_warps, self.metadata.num_ctas = binary.num_warps, binary.num_ctas
        self.n_regs, self.n_spills = loaded.registers, loaded.spills
        self.module, self.function = loaded.module, loaded.function

    def load(self) -> None:
        """Tell the hooks around loading, once for each jit function. The code is loaded."""
        if self.src.kernel is None:
            self.src.kernel = self
            start, end = knobs.runtime.kernel_load_start_hook, knobs.runtime.kernel_load_end_hook
            start(self.module, self.function, self.name, {}, self.hash)
            end(self.module, self.function, self.name, {}, self.hash)
