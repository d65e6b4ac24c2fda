"""`tl.extra.hip.libdevice`: the device library under its HIP name."""

from blockstep.language import libdevice as _library
from blockstep.language.libdevice import *

__all__ = _library.__all__
