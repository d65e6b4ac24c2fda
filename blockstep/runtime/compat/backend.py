"""`triton.backends`, with `.compiler`, `.driver` and `.nvidia.*`: the one backend there is, as
libraries look at it."""

from __future__ import annotations

import abc
import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from blockstep.errors import UnsupportedError
from blockstep.runtime.compat.driver import DriverBase, GPUDriver, ProfileDriver
from blockstep.target import GPUTarget

__all__ = [
    "Backend", "BaseBackend", "CUDABackend", "CUDAOptions", "CudaDriver", "DriverBase", "GPUDriver",
    "GPUTarget", "Language", "backends", "include_dirs", "libcuda_dirs", "library_dirs",
]  # fmt: skip
__path__: list[str] = []


class Language(enum.Enum):
    """What a backend is given."""

    TRITON = 0
    GLUON = 1


class BaseBackend(abc.ABC):
    """What compiles for one target; libraries derive their own."""

    supports_native_tensor_specialization = True

    def __init__(self, target: GPUTarget) -> None:
        if not self.supports_target(target):
            raise ValueError(f"{type(self).__name__} does not compile for {target.backend}")
        self.target = target

    @staticmethod
    @abc.abstractmethod
    def supports_target(target: GPUTarget) -> bool: ...

    @abc.abstractmethod
    def hash(self) -> str: ...

    @abc.abstractmethod
    def parse_options(self, options: dict[str, Any]) -> Any: ...

    @staticmethod
    def parse_attr(desc: str) -> list[list[Any]]:
        """Attributes of an argument: D stands for divisible by 16."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg: int, **kwargs: Any) -> str:
        """The letters that the integer `arg` is specialised on."""
        return "D" if kwargs.get("align", False) and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg: Any, **kwargs: Any) -> str:
        """The letters that the address of `arg` is specialised on."""
        return "D" if kwargs.get("align", False) and arg.data_ptr() % 16 == 0 else ""


@dataclass(frozen=True)
class CUDAOptions:
    """Launch options and their defaults."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = True
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e5", "fp8e4b15", "fp8e4nv")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int | None = None
    extern_libs: Any = None
    debug: bool = False
    backend_name: str = "cuda"
    sanitize_overflow: bool = True
    arch: str | None = None
    instrumentation_mode: str = ""

    def hash(self) -> str:
        """What a cached result depends on in these options."""
        text = "_".join(f"{f.name}-{getattr(self, f.name)}" for f in fields(self))
        return hashlib.sha256(text.encode()).hexdigest()


class CUDABackend(BaseBackend):
    """NVIDIA devices."""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cuda"

    def hash(self) -> str:
        """What a cached result depends on in this backend."""
        return f"blockstep-{self.target.arch}"

    def parse_options(self, options: Mapping[str, Any]) -> CUDAOptions:
        """The options that are set in `options`; keys that are no options are left out."""
        known = {f.name for f in fields(CUDAOptions)}
        return CUDAOptions(**{k: v for k, v in options.items() if k in known and v is not None})

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None:
        """Refuse: there are no stages without a compiler."""
        raise UnsupportedError("unsupported: this version of blockstep has no compilation stages")


CudaDriver = ProfileDriver


@dataclass(frozen=True)
class Backend:
    """A compiler and a driver that belong together."""

    compiler: type[BaseBackend]
    driver: type[DriverBase]


backends: dict[str, Backend] = {"nvidia": Backend(CUDABackend, ProfileDriver)}
include_dirs: list[str] = []


def libcuda_dirs() -> list[str]:
    """Folders of the CUDA driver library: none is used."""
    return []


def library_dirs() -> list[str]:
    """Folders of the libraries a native launcher is linked with: none is used."""
    return []
