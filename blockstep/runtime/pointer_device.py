"""The device whose memory an address is in.

`cuda.bindings` 13.3.1 answers 0 to every question after CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, so on
a machine with two devices the driver's own function is called.
"""

from __future__ import annotations

import ctypes
from typing import Any

SINCE = 4000  # the version of CUDA that brought `cuPointerGetAttribute`


def ordinal_of(api: Any, address: int) -> tuple[int, int]:
    """The driver's status, and the device's ordinal where it is 0. `api` is that of `cuda.bindings`.

    Memory that CUDA does not know has the status CUDA_ERROR_INVALID_VALUE, or the ordinal -1."""
    status, where, _ = api.cuGetProcAddress(b"cuPointerGetAttribute", SINCE, 0)
    if int(status) or not where:
        return int(status) or int(api.CUresult.CUDA_ERROR_NOT_FOUND), -1
    ask = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)(int(where))
    ordinal = ctypes.c_int(-1)
    which = int(api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
    return ask(ctypes.addressof(ordinal), which, address), ordinal.value
