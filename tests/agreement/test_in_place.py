"""What `agreeing_in_place` compares, and that it leaves memory as one launch would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.interp.grid.lanes import of_array
from blockstep.interp.grid.rules import RULES
from tests.agreement.agree import Disagreement
from tests.agreement.in_place import agreeing_in_place


@triton.jit
def doubled(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(x + i, v * 2, mask=i < n)
    tl.store(o + i, tl.exp(v.to(tl.float32)), mask=i < n)


def a_wrong_product(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(operands: Any, attributes: Any, kind: Any) -> Any:
        return of_array(operands[0].full() * operands[1].full() + 1, kind)

    monkeypatch.setitem(RULES, "mul", wrong)


def test_memory_is_written_once() -> None:
    x, o = np.arange(8, dtype=np.int32), np.empty(8, np.float32)
    with triton.check() as report, agreeing_in_place() as compared:
        doubled[(1,)](x, o, 8, N=8)
    assert x.tolist() == list(range(0, 16, 2))
    assert compared.launches[0][1].on_grid and not report.findings
    assert len(report.launches) == 1


def test_a_wrong_bit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    a_wrong_product(monkeypatch)
    with agreeing_in_place(), pytest.raises(Disagreement, match="doubled: argument 0"):
        doubled[(1,)](np.arange(8, dtype=np.int32), np.empty(8, np.float32), 8, N=8)


def test_a_wrong_bit_in_a_tensor_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    a_wrong_product(monkeypatch)
    x, o = torch.arange(8, dtype=torch.int32), torch.zeros(8)
    with agreeing_in_place(), pytest.raises(Disagreement, match="doubled: argument 0"):
        doubled[(1,)](x, o, 8, N=8)
    assert x.tolist() == list(range(8))


def test_bytes_that_nobody_wrote_stay_so_for_the_other_machine() -> None:
    with triton.check() as report, agreeing_in_place():
        x = np.empty(8, np.int32)
        doubled[(1,)](x, np.zeros(8, np.float32), 4, N=8)
    kinds = [finding.kind for finding in report.findings if finding.kind != "grid"]
    assert kinds == ["uninitialised"]
    assert report.findings[0].occurrences == 1
