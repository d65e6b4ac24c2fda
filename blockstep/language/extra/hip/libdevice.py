"""`tl.extra.hip.libdevice`: the device library under its HIP name."""

from blockstep.language import libdevice as _library
from blockstep.language.libdevice import *  # noqa: F403
from blockstep.language.libdevice import __getattr__ as __getattr__

__all__ = _library.__all__
