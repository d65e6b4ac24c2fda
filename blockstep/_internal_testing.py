"""`triton._internal_testing`: what Triton's own tests, and tests written like them, take from
there.

Whether a test may use the paths of a GPU is decided by `is_interpreter()`, which is a setting
(TRITON_INTERPRET, `knobs.runtime.interpret`): true by default, but where the gpu or the ptx
machine was chosen. When it is false the device profile answers, so that bf16 and
tensor-memory-access paths of a test suite run on the interpreting machines too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState

from blockstep import knobs
from blockstep import language as tl
from blockstep.runtime.compat.driver import driver
from blockstep.runtime.compat.utils import canonicalize_dtype
from blockstep.runtime.wrapper import TensorWrapper, reinterpret
from blockstep.target import GPUTarget

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


def is_interpreter() -> bool:
    """Whether tests should keep to what an interpreter is expected to do."""
    return bool(knobs.runtime.interpret)


def get_current_target() -> GPUTarget | None:
    """The device, or None where tests run as on an interpreter."""
    if is_interpreter():
        return None
    target: GPUTarget = driver.active.get_current_target()
    return target


def _on(backend: str, *archs: str) -> bool:
    target = get_current_target()
    if target is None or target.backend != backend:
        return False
    return not archs or any(arch in str(target.arch) for arch in archs)


def _capability() -> int:
    """Major compute capability, 0 where there is no CUDA device."""
    return int(driver.active.get_device_capability()[0]) if is_cuda() else 0


def is_cuda() -> bool:
    return _on("cuda")


def is_hip() -> bool:
    return _on("hip")


def is_xpu() -> bool:
    return _on("xpu")


def is_ampere_or_newer() -> bool:
    return _capability() >= 8


def is_hopper() -> bool:
    return _capability() == 9


def is_hopper_or_newer() -> bool:
    return _capability() >= 9


def is_blackwell() -> bool:
    return _capability() == 10


def is_blackwell_ultra() -> bool:
    return is_blackwell() and driver.active.get_device_capability()[1] == 3


def is_sm12x() -> bool:
    return _capability() == 12


def is_hip_cdna2() -> bool:
    return _on("hip", "gfx90a")


def is_hip_cdna3() -> bool:
    return _on("hip", "gfx942")


def is_hip_cdna4() -> bool:
    return _on("hip", "gfx950")


def is_hip_cdna() -> bool:
    return is_hip_cdna2() or is_hip_cdna3() or is_hip_cdna4()


def is_hip_gfx11() -> bool:
    return _on("hip", "gfx11")


def is_hip_gfx12() -> bool:
    return _on("hip", "gfx12")


def is_hip_gfx1250() -> bool:
    return _on("hip", "gfx1250")


def is_hip_rdna3() -> bool:
    return is_hip_gfx11()


def is_hip_rdna4() -> bool:
    return _on("hip", "gfx120")


def get_hip_lds_size() -> int:
    """Bytes of local memory of an AMD work-group."""
    return 163840 if is_hip_cdna4() else 65536


def get_arch() -> str:
    """The architecture of the device as text, empty where tests run as on an interpreter."""
    target = get_current_target()
    return "" if target is None else str(target.arch)


def numpy_random(
    shape: Any,
    dtype_str: str,
    rs: RandomState | None = None,
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray[Any, Any]:
    """Random elements; never the integer 0. bfloat16 comes as float32, fp8 as int8 codes of
    moderate values."""
    shape = (shape,) if isinstance(shape, int) else shape
    rs = rs if rs is not None else RandomState(seed=17)
    if dtype_str in integral_dtypes:
        return _random_integers(shape, np.dtype(dtype_str), rs, low, high)
    if "float8" in dtype_str:
        return np.asarray(rs.randint(20, 40, shape, dtype=np.int8))
    normal = np.asarray(rs.normal(0, 1, shape))
    if dtype_str in float_dtypes:
        return normal.astype(dtype_str)
    if dtype_str == "bfloat16":
        bits = normal.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return bits.view(np.float32)
    if dtype_str in ("bool", "int1", "bool_"):
        return np.asarray(normal > 0.0)
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def _random_integers(
    shape: Any, dtype: np.dtype[Any], rs: RandomState, low: int | None, high: int | None
) -> np.ndarray[Any, Any]:
    limits = np.iinfo(dtype)
    first = limits.min if low is None else max(low, limits.min)
    last = limits.max if high is None else min(high, limits.max)
    values = np.asarray(rs.randint(first, last, shape, dtype=dtype.type))
    values[values == 0] = 1
    return values


def to_triton(x: np.ndarray[Any, Any], device: Any, dst_type: str | None = None) -> Any:
    """`x` as a kernel argument of type `dst_type` (its own if None): a torch tensor, wrapped where
    torch has no such type."""
    import torch

    name = x.dtype.name
    if name in uint_dtypes:
        signed = torch.tensor(x.astype(name.lstrip("u")), device=device)
        return reinterpret(signed, getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def to_numpy(x: Any) -> np.ndarray[Any, Any]:
    """The elements; bfloat16 as float32."""
    import torch

    if isinstance(x, TensorWrapper):
        array: np.ndarray[Any, Any] = x.base.cpu().numpy().astype(torch_dtype_name(x.dtype))
        return array
    if isinstance(x, torch.Tensor):
        return np.asarray(x.cpu().float() if x.dtype is torch.bfloat16 else x.cpu())
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def str_to_triton_dtype(x: str) -> Any:
    """The language's type of any name of a type."""
    short = canonicalize_dtype(x)
    return next(t for t in vars(tl).values() if isinstance(t, tl.dtype) and _short(t) == short)


def _short(dtype: Any) -> str | None:
    name = str(dtype)
    return canonicalize_dtype(name) if name in _KNOWN_NAMES else None


_KNOWN_NAMES = frozenset(
    [*integral_dtypes, "int1", "void", "fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5",
     "fp8e4b8", "fp8e4b15", "fp8e5b16"]
)  # fmt: skip


def torch_dtype_name(dtype: Any) -> str:
    """ "int64" for torch.int64 and for tl.int64."""
    if isinstance(dtype, tl.dtype):
        return str(dtype.name)
    prefix, dot, name = str(dtype).partition(".")
    if prefix != "torch" or not dot:
        raise TypeError(f"not a triton or torch dtype: {type(dtype)}")
    return name


def supports_tma(byval_only: bool = False) -> bool:
    """Whether tests may use tensor descriptors."""
    return is_interpreter() or is_hopper_or_newer()


def supports_ws() -> bool:
    """Whether tests may use warp specialisation."""
    return is_interpreter() or is_hopper_or_newer()


def tma_skip_msg(byval_only: bool = False) -> str:
    """Why a test that needs tensor descriptors is skipped."""
    return "Requires TMA support (compute capability 9.0 or higher)"


def requires_tma(test: Any) -> Any:
    """Skip the test where `supports_tma()` is false."""
    import pytest

    return pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())(test)


def default_alloc_fn(size: int, align: int, _: Any) -> Any:
    """Scratch memory for `triton.set_allocator`."""
    import torch

    return torch.empty(size, dtype=torch.int8, device=driver.active.get_active_torch_device())


def unwrap_tensor(t: Any) -> Any:
    """The torch tensor inside."""
    return t.base if isinstance(t, TensorWrapper) else t


def _fresh_knobs_impl(
    skipped_attr: set[str] | None = None,
) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Two functions: one gives knobs without assignments, the other puts everything back."""
    names = [n for n, v in vars(knobs).items() if isinstance(v, knobs.base_knobs)]
    groups = {n: getattr(knobs, n) for n in names if n not in (skipped_attr or set())}
    keys = {knob.key for group in groups.values() for knob in group.knob_descriptors.values()}
    environment = {key: os.environ.get(key) for key in keys}
    propagate = knobs.propagate_env

    def fresh() -> Any:
        for name, group in groups.items():
            setattr(knobs, name, group.copy().reset())
        for key in keys:
            os.environ.pop(key, None)
        knobs.propagate_env = True
        return knobs

    def reset() -> None:
        for name, group in groups.items():
            setattr(knobs, name, group)
        for key, value in environment.items():
            os.environ.pop(key, None)
            if value is not None:
                os.environ[key] = value
        knobs.propagate_env = propagate

    return fresh, reset
