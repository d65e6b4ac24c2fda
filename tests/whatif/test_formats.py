"""One kernel in several formats."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.runtime.whatif.comparing import Row, Table
from tests.whatif import kernels
from tests.whatif.taken import normal


def row(table: Table, name: str) -> Row:
    (found,) = [r for r in table.rows if r.format == name]
    return found


def in_formats(x: object, *formats: str) -> Table:
    return triton.compare_formats(
        kernels.in_format, (x, np.zeros(16, np.float32)), grid=(1,), formats=formats, N=16,
        T=tl.float16,
    )  # fmt: skip


def test_a_compile_time_format_is_switched() -> None:
    table = in_formats(normal(16), "fp8e5", "fp8e4nv", "bf16", "fp16", "fp32")
    assert table.switched == ("T",) and table.constants
    rms = [r.errors["o"].rms for r in table.rows]
    assert rms == sorted(rms, reverse=True)
    assert rms[-1] == 0


def test_half_a_unit_is_the_most_that_rounding_to_a_format_loses() -> None:
    table = in_formats(normal(16), "fp8e5", "fp8e4nv", "bf16", "fp16")
    assert all(0 < r.errors["o"].ulps <= 0.5 for r in table.rows)


def test_overflow_and_underflow_are_counted() -> None:
    x = np.array([7e4, 1e-9] * 8, np.float32)
    table = in_formats(x, "fp16", "bf16")
    half, brain = (row(table, n).errors["o"] for n in ("fp16", "bf16"))
    assert (half.overflowed, half.underflowed) == (8, 8)
    assert (brain.overflowed, brain.underflowed) == (0, 0)


def test_e4m3_saturates_where_e5m2_still_has_numbers() -> None:
    table = in_formats(np.full(16, 1000.0, np.float32), "fp8e4nv", "fp8e5")
    assert row(table, "fp8e4nv").errors["o"].greatest == 552.0
    assert row(table, "fp8e5").errors["o"].greatest == 24.0


def test_arrays_are_switched_where_no_format_is_passed() -> None:
    a, b, c = normal(16, 16), normal(16, 16, seed=1), np.zeros((16, 16), np.float32)
    table = triton.compare_formats(
        kernels.product, (a, b, c), grid=(1,), formats=("bf16", "fp16", "tf32", "fp32"), N=16
    )
    assert table.switched == ("a", "b", "c") and not table.constants
    rms = {r.format: r.errors["c"].rms for r in table.rows}
    assert rms["bf16"] > rms["fp16"] and rms["tf32"] > rms["fp32"]
    assert a.dtype == np.float32 and not c.any()


def test_tf32_is_refused_where_nothing_reads_it() -> None:
    table = in_formats(normal(16), "tf32")
    assert "no product of matrices" in row(table, "tf32").why


def test_a_format_that_the_language_refuses_says_why() -> None:
    a = normal(16, 16)
    table = triton.compare_formats(
        kernels.product, (a, a, np.zeros((16, 16), np.float32)), grid=(1,), formats=("fp8e5",), N=16
    )
    assert "K >= 32" in row(table, "fp8e5").why
    assert "K >= 32" in " ".join(str(table).split())


def test_a_name_that_is_no_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'fp12' is no float format; there are fp8e4nv"):
        in_formats(normal(16), "fp12")


def test_the_table_fits_a_terminal_and_the_picture_is_xml() -> None:
    table = in_formats(normal(16), "fp8e4nv", "fp8e5", "bf16", "fp16", "tf32", "fp32")
    assert max(map(len, str(table).splitlines())) <= 80
    bars = [e for e in ElementTree.fromstring(table.svg()).iter() if e.tag.endswith("rect")]
    assert len(bars) == 1 + 5  # the ground, and a bar for each format that ran
