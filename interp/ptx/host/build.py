"""LLVM functions as machine code of this host, through llvmlite.

Everything that was built stays for the life of the process, by its text.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from blockstep.errors import UnsupportedError
from blockstep.interp.ptx.faults import Crash
from blockstep.interp.ptx.host.text import DATA, STRIDES

Call = Callable[[Any, int, int], None]
# Held by Python all the while: the arrays' memory must stay as it is.
_SIGNATURE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class _Host:
    """This machine, and the engine that has the code."""

    def __init__(self) -> None:
        _check_layout()
        _check_processor()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(),
            opt=2, jit=True,
        )  # fmt: skip
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.machine)
        self.count = 0

    def address(self, text: str) -> int:
        """Where the code of the function `run` of a text is."""
        self.count += 1
        name = f"stretch{self.count}"
        module = llvm.parse_assembly(text.replace("@run(", f"@{name}(", 1))
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        options.slp_vectorization = False
        builder = llvm.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        self.engine.add_module(module)
        self.engine.finalize_object()
        return int(self.engine.get_function_address(name))


def _check_layout() -> None:
    """Raises Crash if NumPy keeps arrays otherwise than the code expects."""
    one = np.zeros((2, 3), np.int32)
    data = ctypes.c_void_p.from_address(id(one) + DATA).value
    strides = ctypes.c_void_p.from_address(id(one) + STRIDES).value or 0
    if data != one.ctypes.data or (ctypes.c_int64 * 2).from_address(strides)[:] != [12, 4]:
        raise Crash("NumPy's arrays are laid out otherwise than host code expects")


def _check_processor() -> None:
    """Raises UnsupportedError where conversions of f16 would be calls of functions that nobody has."""
    if llvm.get_host_cpu_features().get("f16c") is False:
        raise UnsupportedError("host code needs a processor that converts 16-bit floats (F16C)")


@functools.cache
def _host() -> _Host:
    return _Host()


@functools.cache
def built(text: str) -> Call:
    """The function `run` of a text, to be called with the address of its objects, rows and columns."""
    call: Call = _SIGNATURE(_host().address(text))
    return call
