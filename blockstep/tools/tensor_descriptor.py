"""`triton.tools.tensor_descriptor`: `TensorDescriptor`, made on the host and passed to a kernel."""

from __future__ import annotations

from blockstep.runtime.descriptor import TensorDescriptor

__all__ = ["TensorDescriptor"]
