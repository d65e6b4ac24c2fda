"""`tl.extra`: device libraries, by backend."""

from blockstep.language.extra import cuda, hip, libdevice

__all__ = ["cuda", "hip", "libdevice"]
