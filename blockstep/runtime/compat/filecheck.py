"""`triton._filecheck`: checks of printed compiler text. The text would be MLIR, so a check of it is
refused; what the language rejects is reported."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from blockstep.compiler.frontend import build_bound
from blockstep.errors import UnsupportedError
from blockstep.ir import Function
from blockstep.runtime.arguments import bind


def run_filecheck(name: str, module_str: str, check_template: str) -> NoReturn:
    """Refuse."""
    raise UnsupportedError(f"unsupported: blockstep prints no MLIR to check ({name})")


def run_parser(kernel_fn: Any, args: Any = (), kwargs: Any = None, target: Any = None) -> Function:
    """Block IR of the kernel for these arguments. Raises CompilationError for what the language
    rejects."""
    bound = bind(kernel_fn.params, args, dict(kwargs or {}), kernel=kernel_fn.__name__)
    return build_bound(kernel_fn, bound.arguments)


def run_filecheck_test(kernel_fn: Any) -> NoReturn:
    """Build the kernel's block IR, then refuse: the text that is checked for is MLIR."""
    run_parser(kernel_fn)
    run_filecheck(getattr(kernel_fn, "__name__", str(kernel_fn)), "", "")


def filecheck_test(fn: Any) -> Callable[[], None]:
    """A test that refuses when it is run."""

    @functools.wraps(fn if hasattr(fn, "__name__") else fn.fn)
    def test() -> None:
        run_filecheck_test(fn)

    return test
