"""Operations that ask the device itself: clocks, places and the order of dependent launches."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.op import Family, define

GLOBALTIMER = define(
    "globaltimer",
    Family.CONTROL,
    lambda: ty.int64,
    lambda: np.int64(time.perf_counter_ns()),
    "`->` int64: nanoseconds of a clock that all program instances share.",
)


SMID = define(
    "smid",
    Family.ELEMENTWISE,
    lambda place: place,
    lambda place: place,
    "`int32 -> int32`: the multiprocessor that this program instance runs on. Where there is none, the operand.",
)


def _nothing() -> Any:
    return None


GDC_WAIT = define(
    "gdc_wait",
    Family.CONTROL,
    lambda: ty.void,
    _nothing,
    "`->`: waits until the launch before has finished and its stores can be seen.",
)
GDC_LAUNCH_DEPENDENTS = define(
    "gdc_launch_dependents",
    Family.CONTROL,
    lambda: ty.void,
    _nothing,
    "`->`: lets the launch after begin; it still has to wait before it reads what this one stores.",
)
