"""What pydevd is given of a block; with debugpy itself in test_debugpy.py."""

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from blockstep.interp import editors
from blockstep.language import types as ty
from blockstep.language.value import tensor


def block(values: Any, element: Any = ty.float32) -> tensor:
    array = np.asarray(values)
    return tensor(array, ty.block_type(element, list(array.shape)))


def test_children_have_numbers_of_the_defined_elements_only() -> None:
    shown = editors.children(block(np.array([1, np.nan, np.inf, -4], np.float32)))
    assert (shown["min"], shown["max"], shown["NaN"], shown["infinite"]) == (-4, 1, 1, 1)
    assert shown["dtype"] == "float32" and shown["shape"] == (4,)


def test_a_large_block_stays_on_one_short_line() -> None:
    text = editors.line(block(np.arange(4096, dtype=np.float32).reshape(64, 64)))
    assert "\n" not in text and len(text) == editors.LONGEST


def test_without_pydevd_nothing_is_imported() -> None:
    before = set(sys.modules)
    editors.attach()
    assert not [name for name in set(sys.modules) - before if "pydev" in name]


def test_providers_are_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lists: dict[type, list[Any]] = {}
    api, utilities = ModuleType("api"), ModuleType("utilities")
    api.TypeResolveProvider = type("TypeResolveProvider", (), {})  # type: ignore[attr-defined]
    api.StrPresentationProvider = type("StrPresentationProvider", (), {})  # type: ignore[attr-defined]
    utilities.extensions_of_type = lambda kind: lists.setdefault(kind, [])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "_pydevd_bundle.pydevd_extension_api", api)
    monkeypatch.setitem(sys.modules, "_pydevd_bundle.pydevd_extension_utils", utilities)
    editors.attach()
    editors.attach()
    assert [len(found) for found in lists.values()] == [1, 1]
    (children,), (line,) = lists.values()
    x = block([1.0, 2.0])
    assert children.can_provide(tensor, "tensor") and not children.can_provide(int, "int")
    assert children.resolve(x, "max") == 2 and line.get_str(x) == "<fp32[2] [1., 2.]>"
