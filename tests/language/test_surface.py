"""Every public name of the language exists, and takes its arguments under Triton's names and in
its order.

`surface.json` lists the names of Triton 3.6.0 (and, under `later`, what 3.7 to 3.9 added) and the
parameters of the functions. Ours may take further parameters after those.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import blockstep
from blockstep import language as tl
from blockstep.runtime import redirect

SURFACE: dict[str, Any] = json.loads((Path(__file__).parent / "surface.json").read_text())

GROUPS: dict[str, Callable[[], Any]] = {
    "language": lambda: tl,
    "later": lambda: tl,
    "core": lambda: tl.core,
    "core_private": lambda: tl.core,
    "math": lambda: tl.math,
    "standard": lambda: tl.standard,
    "random": lambda: tl.random,
    "tensor_dunder": lambda: tl.tensor,
    "dtype": lambda: tl.dtype,
    "tensor_descriptor": lambda: tl.tensor_descriptor,
    "libdevice": lambda: tl.extra.libdevice,
    "cuda": lambda: tl.extra.cuda,
    "target_info": lambda: tl.target_info,
}
INSTANCE_ATTRIBUTES = {
    "tensor": {"dtype", "handle", "numel", "shape", "type"},
    "dtype": {"scalar"},
    "tensor_descriptor": {"block_shape", "block_type", "dtype"},
}


def missing(group: str, owner: Any) -> list[str]:
    """Names of `group` that `owner` does not have."""
    return [name for name in SURFACE[group] if not hasattr(owner, name)]


@pytest.mark.parametrize("group", GROUPS)
def test_every_name_exists(group: str) -> None:
    skipped = INSTANCE_ATTRIBUTES.get(group, set())
    assert [name for name in missing(group, GROUPS[group]()) if name not in skipped] == []


def test_every_member_of_a_block_exists() -> None:
    assert [n for n in missing("tensor", tl.tensor) if n not in INSTANCE_ATTRIBUTES["tensor"]] == []


def test_every_name_of_the_package_exists() -> None:
    redirect.install(device_map=False)
    try:
        assert missing("triton", importlib.import_module("triton")) == []
    finally:
        redirect.uninstall()


def test_the_language_exports_what_it_has() -> None:
    assert sorted(set(SURFACE["language"]) - set(tl.__all__)) == []


def test_blockstep_stands_in_for_triton() -> None:
    """`import blockstep as triton` is enough for a script."""
    assert missing("triton", blockstep) == []


def parameters(function: Any) -> list[str] | None:
    """Names of the parameters, or None where Python cannot tell."""
    function = getattr(function, "fn", function)
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    return names[1:] if names[:1] == ["self"] else names


def taken(owner: Any, name: str) -> list[str] | None:
    found = getattr(owner, name, None)
    return None if found is None or isinstance(found, ModuleType) else parameters(found)


@pytest.mark.parametrize("name", SURFACE["signatures"])
def test_a_function_takes_its_parameters(name: str) -> None:
    wanted = SURFACE["signatures"][name]
    ours = taken(tl, name)
    assert ours is None or ours[: len(wanted)] == wanted


@pytest.mark.parametrize("name", SURFACE["member_signatures"])
def test_a_member_takes_its_parameters(name: str) -> None:
    wanted = SURFACE["member_signatures"][name]
    ours = parameters(inspect.getattr_static(tl.tensor, name))
    ours = (
        ours[1:]
        if ours and len(ours) > len(wanted) and ours[1 : len(wanted) + 1] == wanted
        else ours
    )
    assert ours is None or ours[: len(wanted)] == wanted


def test_libdevice_functions_take_their_parameters() -> None:
    wanted = SURFACE["libdevice_signatures"]
    ours = {name: taken(tl.extra.libdevice, name) for name in wanted}
    assert {
        n: p for n, p in ours.items() if p is not None and p[: len(wanted[n])] != wanted[n]
    } == {}
