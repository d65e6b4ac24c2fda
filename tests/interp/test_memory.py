"""Storages, views and the address space of a launch."""

import gc
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockstep.interp.memory import AddressSpace, Storage, View, gather, looks_like_stride, scatter
from blockstep.interp.owners import Memory, memory_of
from blockstep.interp.registry import Registry
from blockstep.language import types

torch = pytest.importorskip("torch")
F32 = np.dtype(np.float32)


def storage_of(array: Any) -> Storage:
    return AddressSpace().add_array(array)


def where(view: Any) -> tuple[int, int]:
    memory = memory_of(view)
    return memory.base, memory.nbytes


def element_addresses(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.ctypes.data + np.arange(array.size, dtype=np.int64) * array.itemsize


def view_of(array: np.ndarray[Any, Any], space: AddressSpace, name: str = "x") -> View:
    from blockstep.runtime.arrays import Binding, view_of

    return view_of(array, name, Binding(space))


# Who owns what


def test_every_view_of_an_array_leads_to_the_same_memory() -> None:
    x = np.zeros((4, 6), np.float32)
    whole = (x.ctypes.data, x.nbytes)
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)
    frozen = x[:]
    frozen.flags.writeable = False
    for part in (
        x,
        x[1:],
        x.T,
        x[::-1, ::2],
        x.reshape(-1)[5:],
        windows,
        np.asarray(x.data[1:]),
        frozen,
    ):
        assert where(part) == whole


def test_torch_views_lead_to_the_storage() -> None:
    x = torch.zeros(4, 6)
    whole = (x.data_ptr(), 96)
    for part in (x, x[1:], x.T, x[:, 2], x.numpy()[1:], torch.nn.Parameter(x), x.expand(3, 4, 6)):
        assert where(part) == whole


def test_a_memory_map_is_one_memory(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(mmap.PAGESIZE))
    mapped = np.memmap(file, np.float32, "r+")
    assert where(mapped[10:20]) == (mapped.ctypes.data, mmap.PAGESIZE)


def test_bytes_are_read_only_memory() -> None:
    data = b"0123456789abcdef"
    part = np.frombuffer(data, np.int32)[1:]
    memory = memory_of(part)
    assert memory.readonly
    assert memory.nbytes == 16


def test_memory_that_overlaps_is_one_storage() -> None:
    x = np.zeros(100, np.float32)
    space = AddressSpace()
    left = space.add_array(torch.from_numpy(x[:60]))
    right = space.add_array(torch.from_numpy(x[40:]))
    assert left is not None
    assert len(space.storages) == 1
    assert (space.storages[0].base, space.storages[0].nbytes) == (x.ctypes.data, x.nbytes)
    assert space.find(x.ctypes.data) is space.find(x.ctypes.data + 399)
    assert right in space.storages


def test_neighbours_stay_apart() -> None:
    x = np.zeros(100, np.uint8)
    base = x.ctypes.data
    space = AddressSpace()
    space.add(Storage(Memory(base, 50, x)))
    space.add(Storage(Memory(base + 50, 50, x)))
    assert len(space.storages) == 2


# Moving data


@pytest.mark.parametrize(
    "dtype", [np.int8, np.float16, np.float32, np.float64, types.bfloat16.numpy]
)
@pytest.mark.parametrize("phase", [0, 1])
def test_blocks_come_and_go_at_any_alignment(dtype: Any, phase: int) -> None:
    dtype = np.dtype(dtype)
    raw = np.arange(200, dtype=np.uint8)
    storage = storage_of(raw)
    lanes = raw.ctypes.data + phase + np.array([[3, 0], [7, 7]], np.int64) * dtype.itemsize
    wanted = [
        raw[a - raw.ctypes.data :][: dtype.itemsize].tobytes() for a in lanes.reshape(-1).tolist()
    ]
    found = gather(storage, lanes, dtype)
    assert (found.dtype, found.shape) == (dtype, (2, 2))
    assert [v.tobytes() for v in found.reshape(-1)] == wanted
    scatter(storage, lanes, found[::-1], np.array([[True, True], [False, True]]))
    assert gather(storage, int(lanes[0, 0]), dtype).tobytes() == wanted[2]
    assert gather(storage, int(lanes[1, 1]), dtype).tobytes() == wanted[1]


def test_lanes_of_mixed_alignment() -> None:
    raw = np.arange(40, dtype=np.uint8)
    lanes = raw.ctypes.data + np.array([0, 5, 10, 1 << 50])
    mask = np.array([True, True, True, False])
    found = gather(storage_of(raw), lanes, np.dtype(np.uint32), mask, np.uint32(9))
    assert [hex(v) for v in found] == ["0x3020100", "0x8070605", "0xd0c0b0a", "0x9"]
    scatter(storage_of(raw), lanes, np.full(4, 0xFFFFFFFF, np.uint32), mask)
    assert np.flatnonzero(raw == 255).tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]


def test_masked_lanes_may_point_anywhere() -> None:
    x = np.arange(4, dtype=np.float32)
    lanes = np.array([x.ctypes.data + 4, 0, -(1 << 62), 1 << 62])
    mask = np.array([True, False, False, False])
    assert gather(storage_of(x), lanes, F32, mask, np.float32(7)).tolist() == [1, 7, 7, 7]
    scatter(storage_of(x), lanes, np.float32(5), mask)
    assert x.tolist() == [0, 5, 2, 3]
    none = np.zeros(4, bool)
    assert gather(storage_of(x), lanes, F32, none).tolist() == [0, 0, 0, 0]


def test_any_byte_but_zero_is_true() -> None:
    raw = np.array([0, 1, 2, 255], np.uint8)
    assert gather(storage_of(raw), element_addresses(raw), np.dtype(bool)).tolist() == [
        False,
        True,
        True,
        True,
    ]
    scatter(storage_of(raw), element_addresses(raw), np.array([True, False, True, False]))
    assert raw.tolist() == [1, 0, 1, 0]


def test_the_last_lane_stays() -> None:
    x = np.zeros(1, np.int32)
    scatter(storage_of(x), np.full(3, x.ctypes.data), np.array([1, 2, 3], np.int32))
    assert x[0] == 3


def test_an_empty_array_has_no_elements() -> None:
    x = np.zeros(0, np.float32)
    space = AddressSpace()
    view = view_of(x, space)
    assert not view.contains(np.array([view.base]), 4).any()
    assert gather(storage_of(x), np.array([view.base]), F32, np.array([False])).tolist() == [0]


# The address space


def test_lanes_are_sorted_by_storage() -> None:
    x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)
    space = AddressSpace()
    a, b = space.add_array(x), space.add_array(y)
    lanes = np.array([x.ctypes.data, y.ctypes.data, 0, x.ctypes.data + 28, 8, -4])
    found = {id(s): m.tolist() for s, m in space.locate(lanes) if m is not None}
    assert found == {
        id(a): [True, False, False, True, False, False],
        id(b): [False, True, False, False, False, False],
        id(None): [False, False, True, False, True, True],
    }
    assert space.locate(lanes[:1]) == [(a, None)]
    assert space.locate(lanes, np.zeros(6, bool)) == []


def test_a_pointer_table_reaches_an_array_that_was_seen_before() -> None:
    x = np.arange(5, dtype=np.float32)
    storage_of(x)
    found = AddressSpace().find(x.ctypes.data + 4)
    assert found is not None
    assert gather(found, x.ctypes.data + 4, F32) == 1


def test_memory_that_is_gone_is_not_found() -> None:
    registry = Registry()
    for make in (lambda: np.ones(4096, np.float32), lambda: torch.ones(4096)):
        array = make()
        assert registry.register(array) is not None
        base = memory_of(array).base
        assert registry.find(base + 100) is not None
        assert registry.find(base + 4 * 4096) is None
        del array
        gc.collect()
        assert registry.find(base + 100) is None
        assert len(registry) == 0


def test_memory_that_moved_is_not_found() -> None:
    registry = Registry()
    x = torch.zeros(16)
    registry.register(x)
    base = x.data_ptr()
    x.untyped_storage().resize_(1 << 20)
    assert (
        registry.find(base) is None or x.data_ptr() == base and x.untyped_storage().nbytes() == 64
    )


def test_registering_a_part_keeps_the_whole() -> None:
    registry = Registry()
    x = np.zeros(100, np.float32)
    whole = registry.register(x)
    assert registry.register(torch.from_numpy(x[10:20])) is whole


def test_registering_the_whole_keeps_what_is_known_of_a_part() -> None:
    registry = Registry()
    x = np.zeros(100, np.uint8)
    tensor = torch.from_numpy(x[10:20])
    part = registry.register(tensor)
    assert part is not None
    part.forget_writes()
    whole = registry.register(x)
    assert whole is not None
    assert whole.written is not None
    assert np.flatnonzero(~whole.written).tolist() == list(range(10, 20))
    assert len(registry) == 1


# What a launch explains


class Said:
    def __init__(self, space: AddressSpace, **integers: int) -> None:
        self.views: list[View] = space.views
        self.integers: Mapping[str, int] = integers


def outside(view: View, address: int, space: AddressSpace, **integers: int) -> bool:
    lanes = np.array([address])
    assert not view.contains(lanes).any()
    return bool(view.explained(lanes, Said(space, **integers))[0])


def test_the_next_row_of_a_row_is_outside() -> None:
    x = np.zeros((4, 1000), np.float32)
    space = AddressSpace()
    row = view_of(x[0], space)
    assert not outside(row, x[1].ctypes.data, space, n=1000)
    assert outside(row, x[1].ctypes.data, space, stride_row=1000)


def test_a_stride_that_was_passed_explains() -> None:
    qkv = np.zeros((3, 2, 5, 8), np.float32)
    space = AddressSpace()
    q = view_of(qkv[0], space, "q")
    assert outside(q, qkv[1].ctypes.data, space, stride_qkv=80)
    assert not outside(q, qkv[1].ctypes.data, space, stride_qkv=81)
    assert not outside(q, qkv[1].ctypes.data, space, head=8, one=1)
    assert q.explanation(np.array([qkv[1].ctypes.data]), Said(space, s=80))[1] == "s"


def test_a_stride_explains_also_where_the_array_behind_was_flat() -> None:
    qkv = torch.zeros(2 * 5 * 3 * 4 * 8).view(2, 5, 3, 4, 8)
    space = AddressSpace()
    q = view_of(qkv[:, :, 0], space, "q")
    assert outside(q, qkv[0, 0, 1].data_ptr(), space, stride_part=32)
    assert not outside(q, qkv[0, 0, 1].data_ptr(), space, stride_part=33)
    assert not outside(q, qkv[0, 0, 1].data_ptr(), space, n=32)


def test_a_step_of_one_explains_where_an_axis_was_made_to_stand_still() -> None:
    x = torch.zeros(4, 8)
    still = torch.as_strided(x, (4, 8), (8, 0))
    space = AddressSpace()
    view = view_of(still, space, "x")
    assert outside(view, x[0, 3:].data_ptr(), space, stride=8, dim_stride=1)
    assert not outside(view, x[0, 3:].data_ptr(), space, n=8, one=1)


def test_another_argument_explains() -> None:
    x = np.zeros((2, 8), np.float32)
    space = AddressSpace()
    a, b = view_of(x[0], space, "a"), view_of(x[1], space, "b")
    assert outside(a, x[1].ctypes.data, space)
    assert a.explanation(np.array([x[1].ctypes.data]), space)[1] is b


def test_gaps_of_a_strided_view_are_outside() -> None:
    x = np.zeros(16, np.float32)
    space = AddressSpace()
    even = view_of(x[::2], space)
    assert even.contains(element_addresses(x)).tolist() == [True, False] * 8
    assert not outside(even, x.ctypes.data + 4, space, n=8)
    assert even.type_text == "float32[8] with strides (2,)"


@pytest.mark.parametrize(
    "name", ["stride_am", "x_stride", "lda", "ld_b", "stride", "row_pitch", "s_m"]
)
def test_names_of_strides(name: str) -> None:
    assert looks_like_stride(name)


@pytest.mark.parametrize("name", ["n", "size", "rows", "BLOCK_SIZE", "seed", "K", "hold"])
def test_names_of_other_things(name: str) -> None:
    assert not looks_like_stride(name)


def test_virtual_memory_stays_virtual() -> None:
    x = np.zeros(1 << 33, np.uint8)
    space = AddressSpace()
    view = view_of(x, space)
    last = x.ctypes.data + (1 << 33) - 4
    assert view.contains(np.array([last, last + 1]), 4).tolist() == [True, False]
    scatter(view.storage or storage_of(x), last, np.float32(3))
    assert gather(view.storage or storage_of(x), np.array([last, x.ctypes.data]), F32).tolist() == [
        3,
        0,
    ]
