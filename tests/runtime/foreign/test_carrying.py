"""What a kernel reads goes with it, whatever it is and wherever it was defined."""

from __future__ import annotations

import functools
import json
import math
from typing import Any, NamedTuple

import pytest

import blockstep
import blockstep.language as tl
from blockstep.language.extra import libdevice
from blockstep.runtime.foreign.carrying import Carrier
from blockstep.runtime.foreign.failures import NotCarried

SCALE: tl.constexpr = 2.5
FACTOR = tl.constexpr(3)


class Settings:
    width = 7
    unread = object()


class Pair(NamedTuple):
    first: int
    second: float


@blockstep.jit
def inner(x):
    return libdevice.sin(x) * FACTOR


@blockstep.jit
def outer(x, KIND: tl.constexpr = tl.float16):
    return inner(x).to(KIND) + math.pi + Settings.width


def names(function: Any, which: str = "f0") -> dict[str, Any]:
    carrier = Carrier()
    carrier.function(function)
    json.dumps(carrier.functions)
    found: dict[str, Any] = carrier.functions[which]["names"]
    return found


def test_functions_that_are_called_go_along() -> None:
    assert names(outer)["inner"] == ["function", "f1"]
    assert names(outer, "f1")["FACTOR"] == ["constexpr", ["plain", 3]]


def test_modules_of_the_language_are_tritons() -> None:
    assert names(outer)["tl"] == ["module", "triton.language"]
    assert names(outer, "f1")["libdevice"] == ["module", "triton.language.extra.libdevice"]
    assert names(outer)["math"] == ["module", "math"]


def test_only_what_is_read_of_an_object_goes_along() -> None:
    assert names(outer)["Settings"] == ["space", {"width": ["plain", 7]}]


def test_functions_of_the_language_go_by_name() -> None:
    load = tl.load

    @blockstep.jit
    def kernel(x):
        return load(x)

    assert names(kernel)["load"] == ["named", ["triton.language", "load"]]


def test_a_function_that_calls_itself_is_carried_once() -> None:
    @blockstep.jit
    def again(x):
        return again(x)

    assert names(again) == {"again": ["function", "f0"]}


def test_the_text_is_at_its_own_lines() -> None:
    carrier = Carrier()
    carrier.function(outer)
    told = carrier.functions["f0"]
    assert told["text"].startswith("def outer(")
    assert told["line"] == outer.fn.__code__.co_firstlineno + 1
    assert told["file"] == __file__


def test_kernels_of_exec_are_carried_by_their_text() -> None:
    text = "@jit\ndef made(x):\n    return x + 1\n"
    space: dict[str, Any] = {"jit": blockstep.jit, "__name__": "somewhere"}
    exec(text, space)
    carrier = Carrier()
    carrier.function(space["made"])
    assert carrier.functions["f0"]["text"] == "def made(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.1, ["float", (0.1).hex()]),
        (float("inf"), ["float", "inf"]),
        (True, ["plain", True]),
        (tl.float8e4nv, ["named", ["triton.language", "float8e4nv"]]),
        (tl.dtype("bf16"), ["named", ["triton.language", "bfloat16"]]),
        ((), ["tuple", []]),
        ((1, None), ["tuple", [["plain", 1], ["plain", None]]]),
        (Pair(1, 0.5), ["record", ["Pair", ["first", "second"]], [["plain", 1], ["float", (0.5).hex()]]]),
    ],
    ids=str,
)  # fmt: skip
def test_values_keep_their_kind(value: Any, told: Any) -> None:
    assert Carrier().value(value) == told


def test_what_cannot_be_carried_is_left_out_and_said() -> None:
    thing = functools.partial(print)

    @blockstep.jit
    def kernel(x):
        return thing(x)

    carrier = Carrier()
    carrier.function(kernel)
    assert "thing" not in carrier.functions["f0"]["names"]
    assert carrier.left == {"thing": "a value of functools.partial"}
    with pytest.raises(NotCarried, match="a value of builtins.object"):
        carrier.value(object())
