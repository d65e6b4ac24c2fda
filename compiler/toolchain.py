"""What the back of the compiler stands on, and what to say when a part is not installed."""

from __future__ import annotations

from blockstep.errors import UnsupportedError

REMEDY = "pip install 'blockstep[compile]'"


def missing(what: str) -> UnsupportedError:
    """The error for a tool that is not installed. It is not a bug in the kernel."""
    return UnsupportedError(
        f"unsupported: compiling needs {what}, which is not installed here\nhelp: {REMEDY}"
    )
