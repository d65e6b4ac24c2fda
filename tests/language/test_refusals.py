"""What the language refuses while a kernel runs is a language error at the user's expression;
what user code raises stays what it is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import blockstep
import blockstep.language as tl
from blockstep.errors import CompilationError, DeviceAssertionError, InterpreterError, LanguageError

X = np.zeros(8, np.int32)


@blockstep.jit
def takes_three(x_ptr: Any) -> None:
    tl.store(x_ptr + tl.arange(0, 3), 1)


@blockstep.jit
def divides(x_ptr: Any, n: tl.constexpr) -> None:
    tl.store(x_ptr, 1 // n)


@blockstep.jit
def adds(x_ptr: Any, n: Any) -> None:
    tl.store(x_ptr, tl.load(x_ptr) + n)


@blockstep.jit
def reshapes_on_one_path(x_ptr: Any, n: Any) -> None:
    if n > 5:
        tl.reshape(tl.arange(0, 8), (4,))
    tl.store(x_ptr, n)


def test_a_refusal_is_a_language_error_with_its_cause() -> None:
    with pytest.raises(LanguageError) as caught:
        takes_three[(1,)](X)
    assert isinstance(caught.value, CompilationError) and isinstance(caught.value, InterpreterError)
    assert "at 2:" in str(caught.value) and "power of 2" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_it_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(LanguageError("def f(): pass", None, "no")))
    assert again.error_message == "no"


def test_what_python_raises_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        divides[(1,)](X, 0)


def test_a_warm_up_looks_at_every_path() -> None:
    reshapes_on_one_path[(1,)](X, 3)
    with pytest.raises(CompilationError, match="reshape"):
        reshapes_on_one_path.warmup(X, 3, grid=(1,))


def test_debug_launches_stop_at_wrapped_sums() -> None:
    x = np.full(1, 2**31 - 1, np.int32)
    with pytest.raises(DeviceAssertionError, match="device-side assert: int32 overflow"):
        adds[(1,)](x, 2, debug=True)
    assert issubclass(DeviceAssertionError, RuntimeError)
    adds[(1,)](x, 2)
    assert x[0] == -(2**31) + 1


def test_a_kernel_is_called_what_repr_says() -> None:
    @blockstep.jit(repr=lambda s: f"k_{s.signature['n']}_{s.constants['one']}")
    def kernel(n: Any, one: Any) -> None:
        pass

    assert kernel.warmup(2**40, 1, grid=(1,)).name == "k_i64_1"


def test_code_that_was_not_generated_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="unsupported: no 'ptx' was generated"):
        adds.warmup(X, 2, grid=(1,)).asm["ptx"]
