"""Every name that two or more published kernel libraries use exists when `import triton` is ours.

`library_names.json` is what `benchmarks/library_names.py` counted in ten wheels: for each name the
number of libraries and of uses. Left out: Gluon, which is another language; `tl.extract_slice` and
`tl.insert_slice`, which are Ascend's; `tl.math.tanh`, which Triton gave up in version 3.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import blockstep
from blockstep.runtime import redirect

HERE = Path(__file__).parent
USES: dict[str, list[int]] = json.loads((HERE / "library_names.json").read_text())["uses"]


def counter() -> Any:
    """`benchmarks/library_names.py` as a module."""
    file = HERE.parents[1] / "benchmarks" / "library_names.py"
    spec = importlib.util.spec_from_file_location("library_names", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def redirected() -> Iterator[None]:
    before = redirect.installed()
    blockstep.install(device_map=False)
    yield
    if not before:
        blockstep.uninstall()


def test_names_that_libraries_share_exist(redirected: None) -> None:
    exists = counter().exists
    assert len(USES) > 100
    assert [name for name in USES if not exists(name)] == []
    assert not exists("triton.language.no_such_name")


def test_names_are_counted_whatever_a_file_calls_them() -> None:
    source = """
import triton
import triton.language as tl
from triton.language.extra import libdevice as ld
try:
    from triton import gone
except ImportError:
    gone = None

@triton.jit
def kernel(p, n: tl.constexpr):
    tl.store(p, ld.tanh(tl.load(p)))
"""
    assert dict(counter().names_of(source)) == {
        "triton": 1,
        "triton.language": 1,
        "triton.language.extra.libdevice": 1,
        "triton.jit": 1,
        "triton.language.constexpr": 1,
        "triton.language.store": 1,
        "triton.language.load": 1,
        "triton.language.extra.libdevice.tanh": 1,
    }
