"""`tl.extra.libdevice`: the device library, whatever the backend."""

from blockstep.language import libdevice as _library

globals().update({name: getattr(_library, name) for name in _library.__all__})

__all__ = _library.__all__
