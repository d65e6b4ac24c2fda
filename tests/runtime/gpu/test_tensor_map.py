"""What the driver is asked for a tensor map, and what is refused before it is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blockstep.runtime.gpu import tensor_map
from blockstep.runtime.gpu.failures import GPUError
from blockstep.runtime.gpu.tensor_map import TYPES, TensorMaps, Tiled, encode
from tests.runtime.gpu.recording import Recording, recording

PLAIN = Tiled(0x7F0000000000, "fp16", (100, 64), (128, 1), (32, 64), 128, "nan", 256)


def asking() -> tuple[Recording, Any, list[tuple[Any, ...]]]:
    api, driver = recording()
    asked: list[tuple[Any, ...]] = []

    def answer(*told: Any) -> Any:
        asked.append(told)
        return (api.CUresult.CUDA_SUCCESS, api.CUtensorMap())

    api.answers["cuTensorMapEncodeTiled"] = answer
    return api, driver, asked


def test_the_driver_is_told_the_innermost_dimension_first() -> None:
    _, driver, asked = asking()
    assert encode(driver, PLAIN) == bytes(128)
    (told,) = asked
    kind, rank, address, shape, strides, box, steps, interleave, *rest = told
    assert kind.name.endswith("_FLOAT16")
    assert (rank, address) == (2, PLAIN.address)
    assert [int(n) for n in shape] == [64, 100]
    assert [int(n) for n in strides] == [256]
    assert ([int(n) for n in box], [int(n) for n in steps]) == ([64, 32], [1, 1])
    names = [each.name for each in (interleave, *rest)]
    assert [name.split("MAP_", 1)[1] for name in names] == [
        "INTERLEAVE_NONE", "SWIZZLE_128B", "L2_PROMOTION_L2_256B", "FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA",
    ]  # fmt: skip


@pytest.mark.parametrize("element", TYPES)
def test_every_type_of_the_language_has_one_of_the_drivers(element: str) -> None:
    _, driver, asked = asking()
    encode(driver, Tiled(16, element, (16,), (1,), (16,)))
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"address": 8}, "multiple of 16 bytes"),
        ({"strides": (100, 1)}, "stride 0 is 200 bytes"),
        ({"strides": (128, 2)}, "not contiguous: its stride is 2"),
        ({"strides": (0, 1)}, "stride 0 is 0 bytes"),
        ({"shape": (0, 64)}, "dimension 0 has 0 elements"),
        ({"box": (257, 64)}, "257 elements along dimension 0"),
        ({"box": (32, 128)}, "a row of the box is 256 bytes, more than the swizzle"),
        ({"element": "int16"}, "padding with nan"),
        ({"shape": (1,) * 6, "strides": (16,) * 5 + (1,), "box": (1,) * 6}, "6 dimensions"),
    ],
)  # fmt: skip
def test_what_the_hardware_does_not_take_is_said_in_words(change: Any, words: str) -> None:
    _, driver, asked = asking()
    with pytest.raises(GPUError) as caught:
        encode(driver, replace(PLAIN, **change), "matmul")
    assert words in str(caught.value)
    assert str(caught.value).startswith("`matmul`: a tensor map of")
    assert asked == []


def test_a_map_is_kept_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_map, "KEPT", 2)
    _, driver, asked = asking()
    maps = TensorMaps(driver)
    first, second, third = (replace(PLAIN, shape=(n, 64)) for n in (1, 2, 3))
    for told in (first, first, second, third, second, third):
        maps(told)
    assert len(asked) == 3
    maps(first)
    assert len(asked) == 4
