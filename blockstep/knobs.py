"""The knobs of `triton.knobs`: settings that read an environment variable until they are assigned.

Reading looks at the environment each time, so a variable set after import counts. Assigning wins
over the environment and, while `propagate_env` is true, is written to it for child processes.
Assigning `env`, or `del`, returns to the environment; `scope()` puts everything back. What the
knobs of a real compiler mean (`nvidia.ptxas`, `compilation.dump_ir`, ...) they mean once the run
compiles; the interpreting machines read `runtime`, `language` and `autotuning`. Our own options
are in `blockstep.options`.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Self, TypeVar

from blockstep.hooks import CompileTimes, HookChain, NvidiaTool

T = TypeVar("T")

__all__ = [
    "CompileTimes", "Env", "HookChain", "NvidiaTool", "amd", "autotuning", "base_knobs", "build",
    "cache", "compilation", "env", "env_base", "env_bool", "env_class", "env_int",
    "env_nvidia_tool", "env_opt_bool", "env_opt_str", "env_str", "env_str_callable_default",
    "getenv_bool", "language", "nvidia", "propagate_env", "proton", "redis", "refresh_knobs",
    "runtime", "setenv",
]  # fmt: skip

TRUE_WORDS = frozenset({"1", "true", "on", "y", "yes"})


class Env:
    """The type of `env`: assigning it makes a knob follow the environment again."""


env = Env()
propagate_env: bool = True
_UNSET: Any = object()


def setenv(key: str, value: str | None) -> None:
    """Write an environment variable (None removes it), if `propagate_env` is true."""
    if not propagate_env:
        return
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def getenv_bool(key: str, default: T) -> bool | T:
    """The variable as a truth value; `default` if it is not set."""
    value = os.environ.get(key)
    return default if value is None else value.strip().lower() in TRUE_WORDS


def _written(value: Any) -> str | None:
    return ("1" if value else "0") if isinstance(value, bool) else value


class env_base(Generic[T]):
    """A knob: a descriptor over the environment variable `key`."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__.get(self.name, _UNSET)
        return self.get() if value is _UNSET else self.transform(value)

    def __set__(self, instance: Any, value: Any) -> None:
        if isinstance(value, Env):
            self.__delete__(instance)
            return
        instance.__dict__[self.name] = value
        if value is None or isinstance(value, bool | str):
            setenv(self.key, _written(value))
        elif isinstance(value, int):
            setenv(self.key, str(value))

    def __delete__(self, instance: Any) -> None:
        instance.__dict__.pop(self.name, None)

    def get(self) -> T:
        """The value the environment gives."""
        raise NotImplementedError(f"{type(self).__name__} does not read the environment")

    def transform(self, value: Any) -> Any:
        """What reading gives for an assigned `value`."""
        return value


class env_str(env_base[str]):
    """A text with a default."""

    def __init__(self, key: str, default: str) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> str:
        return os.environ.get(self.key, self.default)


class env_str_callable_default(env_base[str]):
    """A text whose default is computed when it is read."""

    def __init__(self, key: str, default_factory: Callable[[], str]) -> None:
        super().__init__(key)
        self.default_factory = default_factory

    def get(self) -> str:
        value = os.environ.get(self.key)
        return self.default_factory() if value is None else value


class env_bool(env_base[bool]):
    """A truth value with a default."""

    def __init__(self, key: str, default: bool = False) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> bool:
        return getenv_bool(self.key, self.default)


machine_compiles: Callable[[], bool] = bool  # whether the machine in force interprets nothing


class env_interpret(env_base[bool]):
    """A truth value whose default is whether the machine in force interprets."""

    def get(self) -> bool:
        return getenv_bool(self.key, not machine_compiles())


class env_int(env_base[int]):
    """An integer with a default."""

    def __init__(self, key: str, default: int = 0) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> int:
        value = os.environ.get(self.key)
        if value is None:
            return self.default
        try:
            return int(value)
        except ValueError as error:
            raise RuntimeError(f"Unable to use {self.key}={value}: expected int") from error


class env_opt_str(env_base["str | None"]):
    """A text or None."""

    def get(self) -> str | None:
        return os.environ.get(self.key)


class env_opt_bool(env_base["bool | None"]):
    """A truth value or None."""

    def get(self) -> bool | None:
        return getenv_bool(self.key, None)


class env_class(env_base["type | None"]):
    """A class written MODULE:CLASS that derives from a class called `type`."""

    def __init__(self, key: str, type: str) -> None:
        super().__init__(key)
        self.type = type

    def get(self) -> type | None:
        value = os.environ.get(self.key)
        if value is None:
            return None
        module, colon, name = value.partition(":")
        if not colon:
            raise RuntimeError(
                f"Unable to read {self.key}: '{value}' isn't of the form MODULE:CLASS"
            )
        found: type = getattr(importlib.import_module(module), name)
        if self.type not in {base.__name__ for base in found.__mro__}:
            raise RuntimeError(
                f"Unable to use '{value}' from {self.key}: not of type '{self.type}'"
            )
        return found


class env_nvidia_tool(env_base[NvidiaTool]):
    """A toolkit program: the variable, else the one on PATH."""

    def __init__(self, binary: str) -> None:
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH")
        self.binary = binary

    def get(self) -> NvidiaTool:
        tool: NvidiaTool = self.transform(os.environ.get(self.key))
        return tool

    def transform(self, value: Any) -> Any:
        for path in (value, shutil.which(self.binary)):
            tool = NvidiaTool.from_path(path) if path else None
            if tool is not None:
                return tool
        raise RuntimeError(f"Cannot find {self.binary}")


class base_knobs:
    """A group of knobs."""

    @property
    def knob_descriptors(self) -> dict[str, env_base[Any]]:
        """Name and descriptor of each knob of this group."""
        return {k: v for k, v in type(self).__dict__.items() if isinstance(v, env_base)}

    @property
    def knobs(self) -> dict[str, Any]:
        """Name and present value of each knob of this group."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self) -> Self:
        """A group with the same assignments, independent of this one."""
        result = type(self)()
        result.__dict__.update(self.__dict__)
        return result

    def reset(self) -> Self:
        """Let every knob follow the environment again."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Assignments inside the `with`, and what they wrote to the environment, are undone."""
        keys = [knob.key for knob in self.knob_descriptors.values()]
        environment = {key: os.environ.get(key) for key in keys}
        assigned = dict(self.__dict__)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(assigned)
            for key, value in environment.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value


class build_knobs(base_knobs):
    """How native code is built."""

    cc = env_opt_str("CC")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH")
    cudart_path = env_opt_str("TRITON_CUDART_PATH")
    impl: Callable[..., str] | None = None

    @property
    def backend_dirs(self) -> set[str]:
        """The CUDA folders that are set."""
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    """Where a remote cache is."""

    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = env_str("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


class cache_knobs(base_knobs):
    """Where compiled kernels are kept."""

    home_dir = env_str("TRITON_HOME", os.path.expanduser("~/"))
    dump_dir = env_str_callable_default("TRITON_DUMP_DIR", lambda: _folder("dump"))
    override_dir = env_str_callable_default("TRITON_OVERRIDE_DIR", lambda: _folder("override"))
    dir = env_str_callable_default("TRITON_CACHE_DIR", lambda: _folder("cache"))
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend")

    @property
    def chosen_dir(self) -> str | None:
        """`dir`, if it was assigned or is in the environment; None where it is the default."""
        assigned: str | None = self.__dict__.get("dir")
        return os.environ.get("TRITON_CACHE_DIR") if assigned is None else assigned

    def get_triton_dir(self, dirname: str) -> str:
        """The folder called `dirname` of the cache tree."""
        return os.path.join(self.home_dir, ".triton", dirname)


def _folder(dirname: str) -> str:
    return cache.get_triton_dir(dirname)


class compilation_knobs(base_knobs):
    """What a compilation writes, and what it allows."""

    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC")
    enable_asan = env_bool("TRITON_ENABLE_ASAN")
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode: str = env_str("TRITON_INSTRUMENTATION_MODE", "").get()
    listener: Callable[..., None] | None = None


class autotuning_knobs(base_knobs):
    """What the tuner says and keeps."""

    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")


class runtime_knobs(base_knobs):
    """Launching. `interpret` is true unless TRITON_INTERPRET says otherwise, or a machine was chosen
    that compiles (gpu, ptx): what interprets here is ours."""

    interpret = env_interpret("TRITON_INTERPRET")
    debug: bool = env_bool("TRITON_DEBUG").get()
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")
    launch_enter_hook: HookChain[Callable[..., None]] = HookChain()
    launch_exit_hook: HookChain[Callable[..., None]] = HookChain(reversed=True)
    kernel_load_start_hook: HookChain[Callable[..., None]] = HookChain()
    kernel_load_end_hook: HookChain[Callable[..., None]] = HookChain(reversed=True)
    jit_cache_hook: Callable[..., bool | None] | None = None
    jit_post_compile_hook: Callable[..., bool | None] | None = None
    add_stages_inspection_hook: Callable[..., Any] | None = None


class language_knobs(base_knobs):
    """Defaults of the language."""

    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)


class nvidia_knobs(base_knobs):
    """The CUDA toolkit."""

    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH")
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    """AMD code generation: accepted and kept, without effect."""

    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP")
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH")
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY")
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS")


class proton_knobs(base_knobs):
    """The profiler: accepted and kept, without effect."""

    disable = env_bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = env_str("TRITON_CUPTI_LIB_PATH", "")
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True)


build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()

# Every launch looks at these, and Python finds them quicker on the object than on its class.
vars(runtime).update(
    debug=runtime.debug,
    launch_enter_hook=runtime.launch_enter_hook,
    launch_exit_hook=runtime.launch_exit_hook,
)


def refresh_knobs() -> None:
    """Read again the variables that are kept from import on, because every launch looks at them."""
    runtime.debug = env_bool("TRITON_DEBUG").get()
    compilation.instrumentation_mode = env_str("TRITON_INSTRUMENTATION_MODE", "").get()
