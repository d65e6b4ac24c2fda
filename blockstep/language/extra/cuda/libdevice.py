"""`tl.extra.cuda.libdevice`: the device library under its CUDA name."""

from blockstep.language import libdevice as _library
from blockstep.language.libdevice import *

__all__ = _library.__all__
