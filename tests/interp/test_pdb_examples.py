"""Scripted pdb sessions over a vector add and a matmul with a device function, on the real machine.

Invariant: every place shown, in any command, is a line of the user's file.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ADD = """\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    out = x + y
    tl.store(out_ptr + offs, out, mask=mask)


x = np.arange(20, dtype=np.float32)
y = x * 2
z = np.empty_like(x)
add[(3,)](x, y, z, x.size, BLOCK=8)
print("last", z[-1])
"""

MATMUL = """\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def multiply(acc, a_at, b_at, k):
    a = tl.load(a_at)
    b = tl.load(b_at)
    acc += tl.dot(a, b)
    return acc


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, N, BLOCK):
        a_at = a_ptr + row[:, None] * N + (start + k)[None, :]
        b_at = b_ptr + (start + k)[:, None] * N + col[None, :]
        acc = multiply(acc, a_at, b_at, start)
    tl.store(c_ptr + row[:, None] * N + col[None, :], acc)


a = np.ones((48, 48), np.float32)
c = np.empty_like(a)
matmul[(3, 3)](a, a, c, 48, BLOCK=16)
print("corner", c[0, 0])
"""

PLACE = re.compile(r"^(?:\(Pdb\) )*(?:>|  ?) ?(/\S+?)\((\d+)\)(\S+?)\(\)", re.M)
Places = list[tuple[str, int]]


def session(folder: Path, script: str, commands: str, *words: str) -> tuple[str, Places]:
    """What one session said, and the function and line of every frame that it showed."""
    file = folder / "kernel.py"
    file.write_text(script)
    start = ["debug", "--pdb", "kernel.py", *words]
    ended = subprocess.run(
        [sys.executable, "-m", "blockstep", *start],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=commands.replace("; ", "\n") + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    shown = PLACE.findall(ended.stdout)
    foreign = [place for place in shown if Path(place[0]).name != "kernel.py"]
    assert not foreign
    assert not ended.stderr.replace("*interactive*\n", "")
    return ended.stdout, [(name, int(line)) for _, line, name in shown]


def test_next_walks_through_an_instance_of_vector_add_and_back_to_the_host(tmp_path: Path) -> None:
    said, shown = session(tmp_path, ADD, "n; " * 8 + "c", "--kernel", "add", "--program", "1,0,0")
    assert shown[:7] == [("add", line) for line in range(8, 15)]
    assert shown[7:] == [("add", 14), ("<module>", 21)]
    assert "last 57.0" in said


def test_step_goes_from_instance_to_instance_of_vector_add(tmp_path: Path) -> None:
    said, shown = session(tmp_path, ADD, "b 8; " + "s; " * 27 + "cl 1; y; c")
    assert shown.count(("add", 8)) == 3 and ("<module>", 21) in shown
    assert "last 57.0" in said


def test_where_up_down_show_the_host_line_above_the_kernel(tmp_path: Path) -> None:
    _, shown = session(tmp_path, ADD, "unt 13; w; u; d; q", "--program", "2,0,0")
    kernel, host = ("add", 13), ("<module>", 20)
    assert shown[1:] == [kernel, host, kernel, host, kernel]


def test_blocks_show_values_and_undefined_elements(tmp_path: Path) -> None:
    said, _ = session(tmp_path, ADD, "unt 13; p x; p x_ptr + offs; p mask; q", "--program", "2")
    assert "<fp32[8] [16., 17., 18., 19.,  0.,  0.,  0.,  0.], 4 of 8 undefined" in said
    assert "<pointer<fp32>[8] x_ptr + [16, 17, 18, 19, 20, 21, 22, 23]>" in said
    assert "<int1[8] [ True,  True,  True,  True, False, False, False, False]>" in said


def test_a_changed_local_reaches_memory(tmp_path: Path) -> None:
    said, _ = session(tmp_path, ADD, "unt 14; !out = out * 0 + 5; c", "--program", "2,0,0")
    assert "last 5.0" in said


def test_interact_sees_the_locals_of_the_kernel(tmp_path: Path) -> None:
    said, _ = session(tmp_path, ADD, "unt 10; interact; offs.shape; exit()", "--program", "1")
    assert "(8,)" in said


def test_step_enters_the_device_function_of_matmul_and_return_leaves_it(tmp_path: Path) -> None:
    commands = "b 23; c; s; s; s; s; s; w; r; n; cl 1; c"
    said, shown = session(tmp_path, MATMUL, commands, "--kernel", "matmul", "--program", "2,1,0")
    inside = shown[2:]
    assert inside[0] == ("multiply", 6)  # --Call--
    assert inside[1:4] == [("multiply", line) for line in (8, 9, 10)]
    assert ("multiply", 11) in inside and ("matmul", 20) in inside
    assert [("<module>", 29), ("matmul", 23)] == inside[5:7]
    assert "corner 48.0" in said


def test_a_conditional_breakpoint_in_the_device_function(tmp_path: Path) -> None:
    commands = "b multiply, k == 32; c; p k; u; p start; cl 1; c"
    said, shown = session(tmp_path, MATMUL, commands, "--program", "1,1,0")
    assert shown[1:3] == [("multiply", 8), ("matmul", 23)]
    assert said.count("<int32 32>") == 2


def test_display_commands_and_until_across_the_loop_of_matmul(tmp_path: Path) -> None:
    commands = "b 23; c; display start; c; c; until; until; q"
    said, shown = session(tmp_path, MATMUL, commands, "--program", "0,0,0")
    assert "display start: <int32 0>" in said
    assert "display start: <int32 32>  [old: <int32 16>]" in said
    assert shown[-1] == ("matmul", 24)


@pytest.mark.parametrize("line", [9, 22])
def test_jump_is_refused_in_kernel_and_device_function(tmp_path: Path, line: int) -> None:
    said, _ = session(tmp_path, MATMUL, f"b {line}; c; j {line + 1}; q")
    assert "jump is not possible inside a kernel" in said
