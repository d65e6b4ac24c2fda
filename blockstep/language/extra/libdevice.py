"""`tl.extra.libdevice`: the device library, whatever the backend."""

from blockstep.language import libdevice as _library
from blockstep.language.libdevice import *

__all__ = _library.__all__
