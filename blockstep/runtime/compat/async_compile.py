"""`triton.AsyncCompileMode`, `triton.FutureKernel`: compilations that run in an executor."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from contextvars import ContextVar
from typing import Any, Self

active_mode: ContextVar[AsyncCompileMode | None] = ContextVar("async_compile_mode", default=None)


class FutureKernel:
    """A kernel that is still being compiled."""

    def __init__(self, finalize_compile: Callable[[Any], None], future: Future[Any]) -> None:
        self.finalize_compile = finalize_compile
        self.future = future
        self.kernel: Any = None

    def result(self, ignore_errors: bool = False) -> Any:
        """The kernel, once it is there; None if it failed and `ignore_errors`."""
        if self.kernel is None:
            if ignore_errors and self.future.exception() is not None:
                return None
            self.kernel = self.future.result()
            self.finalize_compile(self.kernel)
        return self.kernel


class AsyncCompileMode:
    """Inside the `with`, compilations go to `executor`; leaving it waits for all of them."""

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.future_kernels: dict[Hashable, FutureKernel] = {}

    def submit(
        self, key: Hashable, compile_fn: Callable[[], Any], finalize_fn: Callable[[Any], None]
    ) -> FutureKernel:
        """The future of `compile_fn`, started once for each `key`."""
        if key not in self.future_kernels:
            self.future_kernels[key] = FutureKernel(finalize_fn, self.executor.submit(compile_fn))
        return self.future_kernels[key]

    def __enter__(self) -> Self:
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        for kernel in self.future_kernels.values():
            kernel.result(self.ignore_errors)
        active_mode.set(None)
