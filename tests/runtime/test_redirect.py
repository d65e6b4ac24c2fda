"""`import triton` gives blockstep: the same modules, the version, the metadata, and back again."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockstep
from blockstep import target
from blockstep.runtime import redirect

ROOT = Path(__file__).parents[2]


@pytest.fixture
def triton() -> Iterator[Any]:
    redirect.install(device_map=False)
    try:
        yield importlib.import_module("triton")
    finally:
        redirect.uninstall()


def script(text: str, **environment: str) -> str:
    """What `text` prints in a process of its own, where `triton` is blockstep."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    source = "import blockstep\nblockstep.install()\n" + text
    run = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env=environment, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", redirect.ALIASES)
def test_a_name_of_triton_is_another_name_of_our_module(name: str, triton: Any) -> None:
    module = importlib.import_module(name)
    assert module is importlib.import_module(redirect.ALIASES[name])
    assert module.__spec__ is not None and module.__spec__.name == redirect.ALIASES[name]


def test_the_language_is_ours(triton: Any) -> None:
    tl = importlib.import_module("triton.language")
    assert tl is triton.language is blockstep.language
    assert importlib.import_module("triton.language.core") is blockstep.language.core
    assert triton.jit is blockstep.jit


def test_types_are_named_as_they_are_imported(triton: Any) -> None:
    names = [repr(t) for t in (blockstep.language.int32, blockstep.language.float8e5)]
    assert names == ["triton.language.int32", "triton.language.float8e5"]
    redirect.uninstall()
    assert repr(blockstep.language.int32) == "blockstep.language.int32"


def test_version_and_metadata(triton: Any) -> None:
    assert triton.__version__ == "3.6.0"
    assert importlib.metadata.version("triton") == "3.6.0"
    assert "triton" in {d.metadata["Name"] for d in importlib.metadata.distributions()}
    assert blockstep.__version__ != triton.__version__


def test_specs_are_found(triton: Any) -> None:
    spec = importlib.util.find_spec("triton")
    assert spec is not None and spec.name == "triton" == triton.__name__
    assert importlib.util.find_spec("triton.runtime.jit") is not None


@pytest.mark.parametrize("name", ["triton.ops", "triton.language.op_that_is_not", "triton.cache"])
def test_a_module_that_does_not_exist_is_not_found(name: str, triton: Any) -> None:
    assert importlib.util.find_spec(name) is None
    with pytest.raises(ModuleNotFoundError, match=name.replace(".", r"\.")):
        importlib.import_module(name)


@pytest.mark.parametrize("name", ["triton.experimental.gluon", "triton.backends.amd.compiler"])
def test_what_is_unsupported_says_why(name: str, triton: Any) -> None:
    with pytest.raises(ModuleNotFoundError, match="unsupported: blockstep has no triton.*: "):
        importlib.import_module(name)


def test_a_missing_name_says_whose_it_is(triton: Any) -> None:
    with pytest.raises(AttributeError, match="no attribute 'ops'.*this is blockstep"):
        _ = triton.ops
    with pytest.raises(ImportError, match="cannot import name 'ir'"):
        exec("from triton._C.libtriton import ir", {})
    assert not hasattr(importlib.import_module("triton.runtime.interpreter"), "TensorHandle")


def test_uninstall_gives_back_what_was_there() -> None:
    before = sys.modules.get("triton")
    redirect.install(device_map=False)
    redirect.install(device_map=False)
    assert redirect.installed()
    redirect.uninstall()
    redirect.uninstall()
    assert not redirect.installed()
    assert sys.modules.get("triton") is before
    assert not any(isinstance(finder, redirect.Redirect) for finder in sys.meta_path)


def test_modules_of_a_triton_that_was_loaded_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    old, child = type(sys)("triton"), type(sys)("triton.ops")
    monkeypatch.setitem(sys.modules, "triton", old)
    monkeypatch.setitem(sys.modules, "triton.ops", child)
    redirect.install(device_map=False)
    assert importlib.import_module("triton") is not old
    assert "triton.ops" not in sys.modules
    redirect.uninstall()
    assert sys.modules["triton"] is old
    assert sys.modules["triton.ops"] is child


def test_the_driver_answers_from_the_profile(triton: Any) -> None:
    driver = triton.runtime.driver
    assert isinstance(driver.active, triton.backends.driver.DriverBase)
    assert driver.active.get_current_target() == triton.backends.compiler.GPUTarget("cuda", 90, 32)
    assert driver.active.get_device_capability() == (9, 0)
    with target.using("l4"):
        properties = triton.runtime.driver.active.utils.get_device_properties(0)
        assert properties["multiprocessor_count"] == 58
    assert driver.active.get_current_device() == 0
    assert driver.active.map_python_to_cpp_type("*fp16") == "CUdeviceptr"
    driver.active.clear_cache(driver.active.get_empty_cache_for_benchmark())


def test_importing_the_module_driver_keeps_the_object(triton: Any) -> None:
    assert importlib.import_module("triton.runtime.driver") is not triton.runtime.driver
    assert triton.runtime.driver.active is triton.runtime.driver.default


def test_another_driver_can_be_put_in(triton: Any) -> None:
    driver = triton.runtime.driver
    other = object()
    driver.set_active(other)
    assert driver.active is other
    driver.reset_active()
    assert driver.active is driver.default


def test_blockstep_itself_answers_for_runtime_names() -> None:
    assert blockstep.runtime.driver.active.get_current_target().arch == 90
    with pytest.raises(AttributeError, match="no attribute 'engine'"):
        _ = blockstep.runtime.engine


def test_compiling_checks_the_source_and_generates_no_code(triton: Any) -> None:
    @triton.jit
    def kernel(x: Any, n: Any) -> None:
        pass

    source = triton.compiler.ASTSource(
        fn=kernel, signature={"x": "*fp32", "n": "i32"}, constexprs={"n": 4}
    )
    assert source.constants == {(1,): 4}
    assert len(source.hash()) == 64
    with pytest.raises(triton.TritonError, match="unsupported: no 'ptx' was generated"):
        triton.compile(source).asm["ptx"]


def test_backends_and_options(triton: Any) -> None:
    make_backend, GPUTarget = triton.compiler.make_backend, target.GPUTarget
    assert list(triton.backends.backends) == ["nvidia"]
    backend = make_backend(GPUTarget("cuda", 90, 32))
    assert backend.parse_options({"num_warps": 8, "unknown": 1}).num_warps == 8
    with pytest.raises(triton.TritonError, match="no compiler for hip"):
        make_backend(GPUTarget("hip", "gfx942", 64))


def test_files_are_cached_by_key(triton: Any, tmp_path: Path) -> None:
    get_cache_manager = triton.runtime.cache.get_cache_manager
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path)
        manager = get_cache_manager("00ff")
        assert manager.get_file("a.txt") is None
        path = manager.put("text", "a.txt", binary=False)
        assert (
            Path(path).read_text() == "text" and get_cache_manager("00ff").get_file("a.txt") == path
        )
        manager.put_group("all", {"a.txt": path})
        assert manager.get_group("all") == {"a.txt": path}


def test_an_allocator_is_kept_and_the_default_refuses(triton: Any) -> None:
    held = triton.runtime._allocation._allocator
    triton.set_allocator(lambda size, alignment, stream: bytes(size))
    assert held.get()(3, 1, None) == bytes(3)
    triton.set_allocator(triton.runtime._allocation.NullAllocator())
    with pytest.raises(RuntimeError, match="no allocator was set"):
        held.get()(3, 1, None)


def test_is_interpreter_is_a_setting(triton: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    testing = importlib.import_module("triton._internal_testing")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert testing.is_interpreter() and not testing.is_cuda()
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert testing.is_cuda() and testing.is_hopper() and testing.get_arch() == "90"
    with target.using("mi300x"):
        assert testing.is_hip_cdna3() and not testing.is_cuda()


def test_torch_dot_device_type_has_what_scripts_ask_of_torch_cuda() -> None:
    pytest.importorskip("torch")
    out = script(
        """
import torch, triton
device = triton.runtime.driver.active.get_active_torch_device()
module = getattr(torch, device.type)
module.set_stream(module.Stream())
print(module.get_device_properties(0).multi_processor_count)
blockstep.uninstall()
print(hasattr(torch.cpu, "set_stream"))
"""
    )
    assert out.splitlines() == ["132", "False"]


def test_torch_scripts_that_say_cuda_run() -> None:
    pytest.importorskip("torch")
    out = script(
        """
import torch, threading
x = torch.ones(4, device="cuda").cuda().to("cuda:0").to(0)
print(x.device, torch.device("cuda"), torch.cuda.is_available(), torch.cuda.device_count())
print(torch.cuda.get_device_capability(), torch.cuda.get_device_properties(0).multi_processor_count)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record(); torch.cuda.synchronize(); end.record(); print(start.elapsed_time(end) >= 0)
with torch.cuda.stream(torch.cuda.Stream()): print(torch.cuda.current_stream().cuda_stream)
print(torch.rand(2, device="cuda", generator=torch.Generator("cuda").manual_seed(0)).device)
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a): return a * 2
    @staticmethod
    def backward(ctx, g): return g * torch.full((3,), 2.0, device="cuda")
y = torch.ones(3, requires_grad=True, device="cuda")
Twice.apply(y).sum().backward(); print(y.grad.tolist())
seen = []
thread = threading.Thread(target=lambda: seen.append(str(torch.zeros(1, device="cuda").device)))
thread.start(); thread.join(); print(seen)
blockstep.uninstall()
print(torch.cuda.is_available())
"""
    )
    assert out.splitlines() == [
        "cpu cpu True 1", "(9, 0) 132", "True", "0", "cpu", "[2.0, 2.0, 2.0]", "['cpu']", "False",
    ]  # fmt: skip


def test_the_device_map_can_be_left_out() -> None:
    pytest.importorskip("torch")
    out = script(
        "blockstep.uninstall()\nblockstep.install(device_map=False)\n"
        "import torch\nprint(torch.device('cuda'))"
    )
    assert out == "cuda\n"


def test_a_launch_through_the_name_triton(triton: Any) -> None:
    tl = triton.language

    def add_one(x, n, BLOCK: tl.constexpr):  # type: ignore
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

    configs = [triton.Config({"BLOCK": block}) for block in (16, 32)]
    kernel = triton.autotune(configs=configs, key=["n"])(triton.jit(add_one))

    x = np.zeros(40, np.float32)
    kernel[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](x, 40)
    assert x.tolist() == [1] * 40
    assert kernel.best_config.kwargs == {"BLOCK": 16}


IMPORTS = """
import triton.language.extra.libdevice
import triton.language.extra.cuda.libdevice
from triton import Config, JITFunction, autotune, cdiv, heuristics, jit, knobs, language
from triton.backends import BaseBackend, backends
from triton.backends.compiler import BaseBackend, GPUTarget, Language
from triton.backends.driver import DriverBase, GPUDriver
from triton.backends.nvidia.compiler import CUDABackend, CUDAOptions
from triton.backends.nvidia.driver import include_dirs, libcuda_dirs, library_dirs
from triton.compiler import ASTSource, CompiledKernel, IRSource, compile, make_backend
from triton.compiler.compiler import ASTSource, CompiledKernel, LazyDict, make_backend, triton_key
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.compiler.errors import UnsupportedLanguageConstruct
from triton.language.core import _unwrap_if_constexpr, constexpr, constexpr_type, dtype, tensor
from triton.language.extra import cuda, libdevice
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait, globaltimer, smid
from triton.language.extra.cuda.libdevice import pow, rsqrt, tanh
from triton.language.extra.libdevice import fast_dividef, rsqrt, tanh
from triton.language.math import exp, rsqrt
from triton.language.standard import _log2, zeros_like
from triton.language.target_info import cuda_capability_geq, current_target, is_cuda
from triton.profiler import activate, deactivate, finalize, scope, start
from triton.runtime import Autotuner, Heuristics, JITFunction, KernelInterface, OutOfResources
from triton.runtime import driver, build
from triton.runtime._allocation import NullAllocator, set_allocator
from triton.runtime.autotuner import Autotuner, Config, Heuristics, OutOfResources, PTXASError
from triton.runtime.autotuner import autotune, heuristics
from triton.runtime.build import _find_compiler, compile_module_from_src, get_cc, platform_key
from triton.runtime.cache import CacheManager, FileCacheManager, get_cache_manager, triton_key
from triton.runtime.driver import DriverBase, driver
from triton.runtime.errors import InterpreterError, OutOfResources, PTXASError
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret
from triton.runtime.jit import constexpr_function, get_jit_fn_file_line, jit
from triton.testing import Benchmark, do_bench, do_bench_cudagraph, get_dram_gbps
from triton.testing import get_max_simd_tflops, get_max_tensorcore_tflops, nvsmi, perf_report
from triton.tools.mxfp import MXFP4Tensor, MXScaleTensor
from triton.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged
from triton.tools.tensor_descriptor import TensorDescriptor
from triton._utils import canonicalize_dtype, find_paths_if, get_iterable_path
from triton._C.libtriton import getenv, getenv_bool
from triton._filecheck import filecheck_test, run_filecheck, run_filecheck_test, run_parser
from triton._internal_testing import default_alloc_fn, is_cuda, numpy_random, requires_tma
from triton._internal_testing import tma_dtypes, to_numpy, to_triton, unwrap_tensor
"""
"""Imports that published libraries and Triton's own tests make."""


@pytest.mark.parametrize("line", IMPORTS.strip().splitlines())
def test_what_libraries_import_is_there(line: str, triton: Any) -> None:
    (statement,) = ast.parse(line).body
    if isinstance(statement, ast.Import):
        importlib.import_module(statement.names[0].name)
    elif isinstance(statement, ast.ImportFrom):
        module = importlib.import_module(statement.module or "")
        names = [name.name for name in statement.names]
        assert [n for n in names if not _importable(module, n)] == []


def _importable(module: Any, name: str) -> bool:
    if hasattr(module, name):
        return True
    return (
        importlib.util.find_spec(f"{module.__name__.replace('blockstep', 'triton', 1)}.{name}")
        is not None
    )
