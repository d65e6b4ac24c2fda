"""A machine that only evaluates: what an operation's meaning gives, without a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from blockstep.language import members
from blockstep.language import types as ty
from blockstep.language.op import Op, machine
from blockstep.language.value import tensor
from tests.agreement.launcher import agreeing

LANES = 3
ONCE = frozenset(
    {
        "test_a_line_for_each_element",  # printed once
        "test_the_prefix_ends_with_a_colon_and_a_space",
        "test_static_print",
        "test_a_kernel_without_inputs_reads_the_clock",  # no two readings are alike
        "test_device_registers_can_be_read_in_a_kernel",
    }
)


@pytest.fixture(autouse=True)
def machines_agree(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every launch of these tests gives the same bits and findings on every machine."""
    if request.node.originalname in ONCE:
        yield
        return
    with agreeing():
        yield


def same_bits(laned: Any, plain: Any) -> None:
    """Each lane of `laned` is `plain`, bit for bit."""
    if isinstance(plain, tuple):
        for many, one in zip(laned, plain, strict=True):
            same_bits(many, one)
        return
    assert np.shape(laned) == (LANES, *np.shape(plain))
    for lane in range(LANES):
        assert np.asarray(laned[lane]).tobytes() == np.asarray(plain).tobytes()


class Evaluate:
    """Calls each operation's type rule and meaning, and checks that the two agree, and that a
    leading lane axis changes no bit."""

    def __init__(self) -> None:
        self.pending: list[Any] = []
        self.seen: list[str] = []

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        self.seen.append(op.name)
        assert op.meaning is not None, op.name
        kind = op.rule(*[x.type for x in operands], **attributes)
        data = op.meaning(*[x.handle for x in operands], **attributes)
        if operands:
            lanes = [np.stack([x.handle] * LANES) for x in operands]
            same_bits(op.meaning(*lanes, **attributes), data)
        if isinstance(kind, tuple):
            return tuple(self._value(d, k) for d, k in zip(data, kind, strict=True))
        return self._value(data, kind)

    def _value(self, data: Any, kind: ty.dtype) -> tensor:
        assert np.shape(data) == kind.shape, (np.shape(data), kind)
        assert data.dtype == kind.numpy, (data.dtype, kind)
        return tensor(data, kind)

    def truth(self, x: Any, kind: str) -> bool:
        return bool(np.asarray(x.handle).reshape(()))

    def loop_bound(self, x: Any) -> int:
        return int(x.handle) if isinstance(x, tensor) else int(x)


@pytest.fixture
def evaluating() -> Iterator[Evaluate]:
    """The machine in force during the test."""
    members.attach()
    running = Evaluate()
    token = machine.set(running)
    with np.errstate(all="ignore"):
        yield running
    machine.reset(token)


@pytest.fixture
def block(evaluating: Evaluate) -> Callable[..., tensor]:
    """`block(values, tl_dtype)`: a block (or a scalar) with these elements."""

    def make(values: Any, dtype: ty.dtype | None = None) -> tensor:
        array = np.asarray(values)
        if dtype is None:
            dtype = _TYPES[array.dtype.name]
        array = array.astype(dtype.numpy)
        kind = ty.blocked(dtype, array.shape)
        return tensor(array if array.ndim else array[()], kind)

    return make


_TYPES = {t.numpy.name: t for t in (ty.int1, *ty.INTEGERS, *ty.FLOATS)}
