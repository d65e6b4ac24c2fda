"""What can go wrong on the way to another compiler's code; none of it is a verdict on a kernel."""

from __future__ import annotations

from blockstep.errors import TritonError, UnsupportedError


class NoTriton(TritonError):
    """There is no Triton to ask, or its process ended."""


class RefusedByTriton(TritonError):
    """Triton does not compile the kernel; the text is Triton's own."""


class NotCarried(UnsupportedError):
    """Something that the kernel needs cannot be told to another process."""
