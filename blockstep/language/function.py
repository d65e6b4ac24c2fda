"""The jit function: what `@jit` makes of a Python function.

Called on the host it is launched (`kernel[grid](...)`, by `blockstep.runtime.launch`, which
registers itself here: the language does not know the runtime). Called inside a kernel it runs, as
CPython runs any function, from the transformed copy of the user's own code: same file, same lines.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

from blockstep.errors import CompilationError
from blockstep.language import types as ty
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.generated import keep_text
from blockstep.language.interface import KernelInterface
from blockstep.language.op import machine
from blockstep.language.source import source_of
from blockstep.language.transform import Prepared, prepare
from blockstep.language.value import tensor

Launcher = Callable[..., Any]
_launchers: list[Launcher] = []
SHORT = "short"
"""Where a jit function's `device_caches` hold what the runtime launches with, if it can do so without
finding everything out again: `short(grid, *args, **kwargs)` is `run`, only quicker."""


def register_launcher(launcher: Launcher) -> None:
    """Called once by the runtime: `launcher(function, args, kwargs, grid=, warmup=)`."""
    _launchers[:] = [launcher]


def current_launcher() -> Launcher:
    """Where launches go."""
    (launcher,) = _launchers
    return launcher


@contextmanager
def launching(launcher: Launcher) -> Iterator[None]:
    """Launches inside go to `launcher`, afterwards to where they went before."""
    before = current_launcher()
    register_launcher(launcher)
    try:
        yield
    finally:
        register_launcher(before)


class KernelParam:
    """One parameter of a kernel: its name, annotation, default, and how launches specialise it."""

    def __init__(self, num: int, param: inspect.Parameter, fixed: bool, unaligned: bool) -> None:
        self.num = num
        self._param = param
        self.name = param.name
        self.do_not_specialize = fixed
        self.do_not_specialize_on_alignment = unaligned

    @functools.cached_property
    def annotation(self) -> str:
        """The annotation as text, "" for none."""
        found = self._param.annotation
        if found is inspect.Parameter.empty:
            return ""
        return _annotation_text(found)

    @functools.cached_property
    def annotation_type(self) -> str:
        """`i32`, `fp32`, … where the annotation fixes the type; else ""."""
        name = self.annotation.rpartition(".")[2].strip("'\"")
        name = {"float": "fp32", "bool": "int1"}.get(name, name)
        if not ty.dtype.is_dtype(name):
            return ""
        return name.replace("uint", "u").replace("int", "i")

    @functools.cached_property
    def is_constexpr(self) -> bool:
        """Whether the parameter is known when the kernel is compiled."""
        return "constexpr" in self.annotation

    @functools.cached_property
    def is_const(self) -> bool:
        """Whether the parameter is a pointer that the kernel must not write through."""
        return "const" in self.annotation and not self.is_constexpr

    @property
    def default(self) -> Any:
        return self._param.default

    @property
    def has_default(self) -> bool:
        return self._param.default is not inspect.Parameter.empty


def _annotation_text(found: Any) -> str:
    if isinstance(found, str):
        return found
    if isinstance(found, ty.dtype):
        return found.name
    return getattr(found, "__name__", str(found))


class _HostSignature:
    """`inspect.signature` of a jit function: on the host it takes anything."""

    signature = inspect.Signature(
        [
            inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
    )

    def __get__(self, instance: Any, owner: Any = None) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return self.signature


class JITFunction(KernelInterface[Any]):
    """A Python function of the kernel language."""

    __blockstep_jit__ = True
    __signature__ = _HostSignature()

    def __init__(
        self,
        fn: Callable[..., Any],
        version: Any = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[..., Any] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(fn, FunctionType):
            raise TypeError(f"@jit takes a Python function, not {type(fn).__name__}")
        keep_text(fn)
        self.fn = fn
        self.module = fn.__module__
        self.version = version
        self.debug = debug
        self.noinline = noinline
        self.launch_metadata = launch_metadata
        self._repr = repr
        self.signature = inspect.signature(fn)
        fixed = set(do_not_specialize or ())
        unaligned = set(do_not_specialize_on_alignment or ())
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment
        self.params = [
            KernelParam(i, p, i in fixed or p.name in fixed, i in unaligned or p.name in unaligned)
            for i, p in enumerate(self.signature.parameters.values())
        ]
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self.kernel = None
        self.device_caches: dict[Any, Any] = {}
        self.used_global_vals: dict[Any, Any] = {}
        self._text: str | None = None
        self._body: Callable[..., Any] | None = None
        self._prepared: Prepared | None = None
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.__globals__ = fn.__globals__

    @property
    def __code__(self) -> CodeType:
        """The code that runs: debuggers find breakpoints' lines by it."""
        return self.prepared.function.__code__

    @property
    def body(self) -> Callable[..., Any]:
        """The transformed function. Raises CompilationError for what the language rejects."""
        if self._body is None:
            self._body = self.prepared.function
        return self._body

    @property
    def prepared(self) -> Prepared:
        """The function with its source and its language checks."""
        if self._prepared is None:
            made = prepare(self.fn, self._text)
            for p in self.params:
                if p.is_constexpr and p.do_not_specialize:
                    text = f"{p.name} marked as constexpr and listed in do_not_specialize"
                    raise CompilationError(self.src, None, text)
            self._prepared = made
        return self._prepared

    @property
    def src(self) -> str:
        """The function's source text, from `def` on."""
        return self._text if self._text is not None else source_of(self.fn).text

    @property
    def raw_src(self) -> list[str]:
        return self.src.splitlines(keepends=True)

    def rewrite(self) -> Callable[..., Any]:
        """The function that runs; `rewriter` says where it was found, as Triton's interpreter does."""
        return self.body

    @property
    def rewriter(self) -> SimpleNamespace:
        return SimpleNamespace(def_file_lineno=self.prepared.source.line)

    @property
    def starting_line_number(self) -> int:
        return source_of(self.fn).line

    def parse(self) -> Any:
        """The syntax tree of the function as a module."""
        import ast

        return ast.parse(self.src)

    def _unsafe_update_src(self, new_src: str) -> None:
        """Replaces the source text; the next launch runs the new one."""
        self._text, self._body, self._prepared = new_src, None, None
        self.device_caches.clear()

    @property
    def cache_key(self) -> str:
        """A digest of the source and of everything the function reads by name."""
        return self._digest(())

    def _digest(self, callers: tuple[JITFunction, ...]) -> str:
        """`callers` led here: functions may call each other in a circle."""
        digest = hashlib.sha256(self.src.encode())
        digest.update(str(self.starting_line_number).encode())
        callers = (*callers, self)
        for name in sorted(self.fn.__code__.co_names):
            value = self.fn.__globals__.get(name)
            if isinstance(value, JITFunction):
                known = value._fn_name if value in callers else value._digest(callers)
                digest.update(known.encode())
            elif isinstance(value, constexpr):
                digest.update(repr((name, value.value)).encode())
        return digest.hexdigest()

    @property
    def hash(self) -> str:
        return self.cache_key

    @property
    def _fn_name(self) -> str:
        return f"{self.fn.__module__}.{self.fn.__qualname__}"

    @property
    def has_repr(self) -> bool:
        """Whether `jit(repr=)` names the kernel."""
        return self._repr is not None

    def repr(self, _: Any) -> str:
        """The name under which the kernel is known to profilers."""
        return self._fn_name if self._repr is None else self._repr(_)

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """`hook(*args, **kwargs)` runs before every launch."""
        self.pre_run_hooks.append(hook)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """`kernel[grid]`: a callable that launches over `grid`, through what the runtime has prepared
        (see `SHORT`), unless somebody put a `run` of his own in the place of ours."""
        short = self.device_caches.get(SHORT)
        if short is None or type(self).run is not _RUN or "run" in self.__dict__:
            return super().__getitem__(grid)
        return partial(short, grid)

    def create_binder(self) -> None:
        """Nothing to prepare: binding needs no generated code here."""

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """One launch. Raises RuntimeError where the package that launches is not loaded."""
        __tracebackhide__ = True
        short = self.device_caches.get(SHORT)
        if short is not None and not warmup:
            return short(grid, *args, **kwargs)
        return self._launch(args, kwargs, grid, warmup)

    def _launch(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any, warmup: bool
    ) -> Any:
        __tracebackhide__ = True
        if not _launchers:
            raise RuntimeError("launching needs `import blockstep`")
        return _launchers[0](self, args, kwargs, grid=grid, warmup=warmup)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs as a function called by a kernel. An annotation `tl.constexpr` binds launches, not
        such calls: Triton takes run-time values there too."""
        if machine.get(None) is None:
            raise RuntimeError(
                f"Cannot call @triton.jit'd outside of the scope of a kernel: launch it as "
                f"{self.__name__}[grid](...)"
            )
        body = self._body or self.body
        plain = [unwrap(a) if type(a) is constexpr else a for a in args]
        for name, value in kwargs.items():
            if type(value) is constexpr:
                kwargs[name] = value.value
        return body(*plain, **kwargs)

    def __repr__(self) -> str:
        return f"JITFunction({self.module}:{self.fn.__qualname__})"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is the first argument."""
        return self if instance is None else functools.partial(self.__call__, instance)

    def __hash__(self) -> int:
        return id(self)


_RUN = JITFunction.run


class ConstexprFunction:
    """A Python function that kernels call with compile-time values, whose result is one."""

    __blockstep_constexpr_function__ = True
    __triton_builtin__ = True

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        plain = [unwrap(a) for a in args]
        result = self.fn(*plain, **{k: unwrap(v) for k, v in kwargs.items()})
        if machine.get(None) is None:
            return result
        for value in (*plain, *kwargs.values()):
            if type(value) is tensor:
                raise TypeError(
                    f"{self.__name__} is a constexpr function, but got a run-time value"  # type: ignore[attr-defined]
                )
        return result

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self.__call__, instance)


def constexpr_function(fn: Callable[..., Any]) -> Any:
    """Lets kernels call `fn` with compile-time values."""
    return ConstexprFunction(fn)


def jit(
    fn: Any = None,
    *,
    version: Any = None,
    repr: Callable[..., Any] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Any:
    """Makes a Python function a kernel: `@jit`, or `@jit(do_not_specialize=[...], …)`.

    `do_not_specialize`: parameters whose value 1 stays a run-time value. `noinline`: the compiler
    keeps the function as a call. `repr` names the kernel for profilers, `launch_metadata` makes
    what launch hooks see. Raises TypeError for anything but a Python function."""

    def decorate(function: Callable[..., Any]) -> JITFunction:
        return JITFunction(
            function,
            version,
            do_not_specialize,
            do_not_specialize_on_alignment,
            debug,
            noinline,
            repr,
            launch_metadata,
        )

    return decorate if fn is None else decorate(fn)
