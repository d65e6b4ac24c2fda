"""`tl.extra.cuda`: what only NVIDIA devices have."""

from blockstep.language.extra.cuda import gdc, libdevice, utils
from blockstep.language.extra.cuda.gdc import gdc_launch_dependents, gdc_wait
from blockstep.language.extra.cuda.utils import (
    convert_custom_float8_sm70,
    convert_custom_float8_sm80,
    globaltimer,
    num_threads,
    num_warps,
    smid,
)

__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc",
    "gdc_launch_dependents",
    "gdc_wait",
    "globaltimer",
    "libdevice",
    "num_threads",
    "num_warps",
    "smid",
    "utils",
]
