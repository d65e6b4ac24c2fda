"""Operations without operands: where a block or a scalar comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.op import Family, define

ARANGE = define(
    "arange",
    Family.SOURCE,
    lambda start, end: ty.block_type(ty.int32, [end - start]),
    lambda start, end: np.arange(start, end, dtype=np.int32),
    "`-> n` int32: start, start + 1, … end - 1.",
)


def _int32(**_: Any) -> ty.dtype:
    return ty.int32


PROGRAM_ID = define(
    "program_id",
    Family.CONTROL,
    _int32,
    None,
    "`->` int32: the index of this program instance along an axis of the grid.",
)
NUM_PROGRAMS = define(
    "num_programs",
    Family.CONTROL,
    _int32,
    None,
    "`->` int32: the length of an axis of the grid.",
)
