"""What a second launch on the same memory would change: the arguments that tuning corrupts.

Triton's tuner launches every configuration many times on the caller's memory and puts back only
what `restore_value` names. Invariant: the second launch is not judged, and leaves no trace.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blockstep import diagnostics
from blockstep.errors import TritonError
from blockstep.findings import RerunDiffers
from blockstep.findings.parts import Argument
from blockstep.language.frames import user_site
from blockstep.runtime import session
from blockstep.runtime.snapshot import Snapshot, arrays


class RerunChangesResult(UserWarning):
    """A second launch on the same memory gives another result, so tuning on a GPU corrupts it."""


def changed(
    arguments: Mapping[str, Any], restored: Sequence[str], launch: Callable[[], object]
) -> list[str]:
    """Names of the arguments, but for `restored`, whose memory `launch` changes; it is put back.

    No name if `launch` ends in an error: that tells nothing about the result."""
    before = Snapshot(arguments.values())
    try:
        with session.unjudged():
            launch()
        named = {k: v for k, v in arguments.items() if k not in restored}
        return [k for k, v in named.items() if any(before.changed(a) for a in arrays([v]))]
    except TritonError:
        return []
    finally:
        before.restore()


def tell(kernel: str, names: Sequence[str], configurations: int) -> None:
    """Say that launching `kernel` again changes these: a finding in a judged run, else a warning."""
    current = session.current()
    if not current.options.judged:
        given = ", ".join(repr(name) for name in names)
        warnings.warn(
            f"{kernel}: launching it again changes {given}, and tuning launches many times on the"
            f" same memory; add restore_value=[{given}] or reset_to_zero=[{given}]",
            RerunChangesResult,
            stacklevel=5,
        )
        return
    place = user_site().span
    event = RerunDiffers(
        span=place,
        kernel=kernel,
        host=place,
        outputs=tuple(Argument(name) for name in names),
        configurations=configurations,
    )
    diagnostics.record(current.report, event)
