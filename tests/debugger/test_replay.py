"""A launch in one file: opened elsewhere it is the same launch, on the same lines."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.debugger.replay import NoReplay, Recipe, is_replay, read, save
from blockstep.interp.registry import registry
from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.factories import mark
from blockstep.runtime.ladder import Launch, take
from blockstep.runtime.ladder.sources import NotWritten

SIZE = tl.constexpr(2)
BLOCK = 8


@triton.jit
def twice(v):
    # the comment of a function
    return v * SIZE


@triton.autotune(configs=[triton.Config({"BLOCK": BLOCK})], key=["n"])
@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Its docstring."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)  # the comment of a line
    tl.store(out_ptr + offs, twice(x), mask=offs < n)


@triton.jit
def boxes(box, out_ptr, pair, B: tl.constexpr = BLOCK):
    block = box.load([0, 0])
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out_ptr + at, block + tl.load(pair[0]) + pair[1])


def made(kernel: Any, *args: Any, grid: Any = (3,), **more: Any) -> Launch:
    function = kernel if isinstance(kernel, triton.JITFunction) else kernel.fn
    return take(function, args, more, grid)


def again(tmp_path: Path, launch: Launch, **how: Any) -> tuple[Any, Launch]:
    """The launch from a file, and what the file held."""
    file = str(tmp_path / "bug.blockstep")
    save(file, launch, **how)
    assert is_replay(file)
    replay = read(file)
    return replay, replay.launch()


def run(launch: Launch) -> None:
    with triton.machine("step"):
        launch.function[launch.grid](*launch.args, **launch.kwargs)


def test_a_launch_from_a_file_computes_the_same(tmp_path: Path) -> None:
    x, out = np.arange(20, dtype=np.float32), np.zeros(20, np.float32)
    launch = made(scale, x, out, 20, BLOCK=8)
    replay, opened = again(tmp_path, launch)
    run(launch)
    run(opened)
    assert np.array_equal(replay.arguments["out_ptr"], x * 2) and np.array_equal(out, x * 2)


def test_lines_of_a_replay_are_those_of_the_file_with_comments(tmp_path: Path) -> None:
    x, out = np.arange(20, dtype=np.float32), np.zeros(20, np.float32)
    launch = made(scale, x, out, 20, BLOCK=8)
    _, opened = again(tmp_path, launch)
    here, there = launch.function.prepared.source, opened.function.prepared.source
    assert (there.line, there.text) == (here.line, here.text)
    assert there.file == str(tmp_path / "bug.blockstep" / "test_replay.py")
    assert "# the comment of a line" in linecache.getline(there.file, there.line + 3)


def test_views_of_one_memory_and_their_alignment_stay(tmp_path: Path) -> None:
    whole = np.arange(40, dtype=np.int32)
    launch = made(scale, whole[3:23], whole[10:30], 20, BLOCK=8)
    _, opened = again(tmp_path, launch)
    x, out = opened.kwargs["x_ptr"], opened.kwargs["out_ptr"]
    assert out.ctypes.data - x.ctypes.data == 28
    assert x.ctypes.data % 16 == launch.args[0].ctypes.data % 16
    assert np.array_equal(x, whole[3:23])


def test_never_written_memory_stays_unwritten(tmp_path: Path) -> None:
    out = np.empty(20, np.float32)
    mark(out, "numpy.empty")
    out[:4] = 1
    launch = made(scale, np.arange(20, dtype=np.float32), out, 20, BLOCK=8)
    _, opened = again(tmp_path, launch)
    storage = opened.bound.by_name["out_ptr"].view.storage  # type: ignore[union-attr]
    assert storage is not None and storage.written is not None
    assert np.array_equal(storage.written, np.arange(80) < 16)
    record = registry.find(storage.base)
    assert record is not None and record[0].made_by == "numpy.empty"


def test_descriptors_tuples_defaults_and_small_floats_are_kept(tmp_path: Path) -> None:
    box = TensorDescriptor.from_tensor(
        np.arange(64, dtype=ml_dtypes.bfloat16).reshape(8, 8), [8, 8]
    )
    out, one = np.zeros(64, np.float32), np.full(1, 0.5, np.float32)
    launch = made(boxes, box, out, (one, 3), grid=(1,), num_warps=2)
    replay, opened = again(tmp_path, launch)
    assert opened.told["num_warps"] == 2
    run(opened)
    assert np.array_equal(replay.arguments["out_ptr"], np.arange(64) + 3.5)


def test_equal_launches_give_equal_files(tmp_path: Path) -> None:
    launch = made(scale, np.arange(20, dtype=np.float32), np.zeros(20, np.float32), 20, BLOCK=8)
    for name in ("a", "b"):
        save(str(tmp_path / name), launch)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def random_arguments() -> dict[str, Any]:
    draw = np.random.default_rng(7)
    return {"x_ptr": draw.normal(size=20_000), "out_ptr": np.zeros(20_000)}


def test_a_recipe_stands_for_the_memory_that_it_makes(tmp_path: Path) -> None:
    given = random_arguments()
    launch = made(scale, *given.values(), 20_000, BLOCK=8, grid=(2500,))
    _, opened = again(tmp_path, launch, recipe=Recipe(random_arguments))
    assert np.array_equal(opened.kwargs["x_ptr"], given["x_ptr"])
    assert (tmp_path / "bug.blockstep").stat().st_size < 3000


def test_a_recipe_that_makes_something_else_is_refused(tmp_path: Path) -> None:
    launch = made(scale, np.ones(20_000), np.zeros(20_000), 20_000, BLOCK=8, grid=(2500,))
    with pytest.raises(NotWritten, match=r"does not make the `x_ptr` of this launch"):
        save(str(tmp_path / "bug"), launch, recipe=Recipe(random_arguments))


@triton.jit
def through_a_table(table_ptr, out_ptr):
    x_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr, tl.load(x_ptr))


def test_memory_behind_addresses_is_refused(tmp_path: Path) -> None:
    x = np.ones(4, np.float32)
    launch = made(through_a_table, np.array([x.ctypes.data]), np.zeros(1, np.float32), grid=(1,))
    with pytest.raises(NotWritten, match="reaches memory through addresses"):
        save(str(tmp_path / "bug"), launch)


def test_another_file_is_no_replay(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    assert not is_replay(str(file))
    with pytest.raises(NoReplay, match=r"notes\.txt is no replay file"):
        read(str(file))
