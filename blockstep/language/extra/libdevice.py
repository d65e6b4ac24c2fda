"""`tl.extra.libdevice`: the device library, whatever the backend."""

from blockstep.language import libdevice as _library
from blockstep.language.libdevice import *  # noqa: F403
from blockstep.language.libdevice import __getattr__ as __getattr__

__all__ = _library.__all__
