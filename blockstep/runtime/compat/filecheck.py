"""`triton._filecheck`: checks of printed compiler text. There is none here, so running one is
refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from blockstep.errors import UnsupportedError


def run_filecheck(name: str, module_str: str, check_template: str) -> NoReturn:
    """Refuse."""
    raise UnsupportedError(f"unsupported: blockstep prints no MLIR to check ({name})")


def run_parser(kernel_fn: Any, args: Any = (), kwargs: Any = None, target: Any = None) -> NoReturn:
    """Refuse."""
    raise UnsupportedError("unsupported: blockstep does not turn kernels into MLIR")


def run_filecheck_test(kernel_fn: Any) -> NoReturn:
    """Refuse."""
    run_filecheck(getattr(kernel_fn, "__name__", str(kernel_fn)), "", "")


def filecheck_test(fn: Any) -> Callable[[], None]:
    """A test that refuses when it is run."""

    @functools.wraps(fn if hasattr(fn, "__name__") else fn.fn)
    def test() -> None:
        run_filecheck_test(fn)

    return test
