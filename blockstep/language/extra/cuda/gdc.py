"""Grid dependency control: overlapping the end of one launch with the start of the next.

Source: PTX ISA 8.7, `griddepcontrol`. Launches run one after the other here, so that both have
nothing to wait for.
"""

from __future__ import annotations

from blockstep.language.op import emit
from blockstep.language.ops.device import GDC_LAUNCH_DEPENDENTS, GDC_WAIT


def gdc_wait() -> None:
    """Waits until the launch before has finished and its stores can be seen."""
    emit(GDC_WAIT)


def gdc_launch_dependents() -> None:
    """Lets the launch after begin."""
    emit(GDC_LAUNCH_DEPENDENTS)


__all__ = ["gdc_launch_dependents", "gdc_wait"]
