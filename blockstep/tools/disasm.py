"""`triton.tools.disasm`: reading machine code. It needs a compiler's output, and says so when it
is used."""

from __future__ import annotations

from blockstep.runtime.compat.forward import lookup

__getattr__ = lookup("triton.tools.disasm", [])
