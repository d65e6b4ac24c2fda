"""The rules of placed IR: each is broken once, and the verifier says which and where."""

import pytest

from blockstep.ir import Malformed, parse, verify

ROW = "layout<64; r=; l=1,2,4,8,16; w=32>"
TURNED = "layout<64; r=; l=2,4,8,16,32; w=1>"
PAIRS = "layout<64; r=1; l=2,4,8,16,32; w=0>"
COLUMN = "layout<64x1; r=; l=1,2,4,8,16; w=32>"
WIDE = "layout<64x2; r=1; l=2,4,8,16,32; w=64>"
ACROSS = "layout<2x64; r=64; l=1,2,4,8,16; w=32>"
SHARED = "shared<64; 1,2,4,8,16,32>"
SWAPPED = "shared<64; 2,1,4,8,16,32>"
COPIED = "layout<64; r=1,2,4; l=8,16,32,0,0; w=0>"

GOOD = f"""
  %p = arange {{start=0, end=64}} : int32[64] {ROW}
  %q = splat %x {{shape=(64,)}} : pointer<fp32>[64] {ROW}
  %at = addptr %q, %p {{itemsize=4}} : pointer<fp32>[64] {ROW}
  %v = load %at {{cache="", eviction="", volatile=false, vector=1}} : fp32[64] {ROW}
  %w = convert %v : fp32[64] {PAIRS}
  %y = add %w, %w : fp32[64] {PAIRS}
  %c = expand_dims %v {{axis=1, rank=1}} : fp32[64, 1] {COLUMN}
  %b = broadcast %c {{shape=(64, 2,)}} : fp32[64, 2] {WIDE}
  %t = permute %b {{dims=(1, 0,)}} : fp32[2, 64] {ACROSS}
  %s = for %n, %n, %n, %y : fp32[64] {PAIRS} {{
    ^(%i: int32, %a: fp32[64] {PAIRS})
    yield %a
  }}
  %z = convert %s : fp32[64] {ROW}
  store %at, %z {{cache="", eviction="", vector=1}}
"""

PIPELINED = f"""
  %p = arange {{start=0, end=64}} : int32[64] {COPIED}
  %q = splat %x {{shape=(64,)}} : pointer<fp32>[64] {COPIED}
  %at = addptr %q, %p {{itemsize=4}} : pointer<fp32>[64] {COPIED}
  %on = lt %n, %n : int1
  %ring = ring {{slots=2, shape=(64,), element=!fp32}} : int32
  async_copy %ring, %n, %on, %at {{vector=4, layout={SHARED}}}
  async_commit
  async_wait {{pending=0}}
  barrier
  %block = slot %ring, %n {{shape=(64,), element=!fp32}} : fp32[64] {SHARED}
"""

A = "shared<64x16; 1,2,4,8,16,32,64,128,256,512>"
B = "shared<16x8; 1,2,4,8,16,32,64>"
SUMS = "layout<64x8; r=1,64; l=2,4,8,16,32; w=128,256>"
LOADED = "layout<64x16; r=1,2,4; l=8,16,32,64,128; w=256,512>"
FACTOR = "layout<64x16; r=1,2,4; l=8,16,32,64,128; w=512,256>"
DOT = '{out=!fp32, precision="tf32", imprecise=0, in_flight=true}'

PRODUCT = f"""
  %zero = constant {{type=!fp32[64, 8], value=0.0}} : fp32[64, 8] {SUMS}
  %ra = ring {{slots=2, shape=(64, 16,), element=!fp16}} : int32
  %rb = ring {{slots=2, shape=(16, 8,), element=!fp16}} : int32
  %a = slot %ra, %n {{shape=(64, 16,), element=!fp16}} : fp16[64, 16] {A}
  %b = slot %rb, %n {{shape=(16, 8,), element=!fp16}} : fp16[16, 8] {B}
  %acc = for %n, %n, %n, %zero : fp32[64, 8] {SUMS} {{
    ^(%i: int32, %sums: fp32[64, 8] {SUMS})
    %more = dot %a, %b, %sums {DOT} : fp32[64, 8] {SUMS}
    yield %more
  }}
  %done = dot_wait %acc {{pending=0}} : fp32[64, 8] {SUMS}
  %twice = add %done, %done : fp32[64, 8] {SUMS}
"""


def checked(body: str) -> None:
    """Verifies a function with these operations."""
    verify(parse(f"func @f(%x: pointer<fp32>, %n: int32) -> () const {{}} {{{body}  return\n}}"))


@pytest.mark.parametrize("body", [GOOD, PIPELINED, PRODUCT])
def test_what_is_right_is_accepted(body: str) -> None:
    checked(body)


def test_unplaced_blocks_need_no_layout() -> None:
    checked("  %p = arange {start=0, end=64} : int32[64]\n")


@pytest.mark.parametrize(
    ("body", "old", "new", "said"),
    [
        (GOOD, f"%p = arange {{start=0, end=64}} : int32[64] {ROW}",
         "%p = arange {start=0, end=64} : int32[64]", "arange: .* has no layout"),
        (GOOD, f"splat %x {{shape=(64,)}} : pointer<fp32>[64] {ROW}",
         f"splat %x {{shape=(64,)}} : pointer<fp32>[64] {COLUMN}", "splat: .* of another shape"),
        (GOOD, "    ^(%i: int32,", f"    ^(%i: int32 {ROW},", "for: a scalar has the layout"),
        (GOOD, f"convert %v : fp32[64] {PAIRS}",
         "convert %v : fp32[64] layout<64; r=1; l=2,4,8,16,32; w=0,0>",
         "convert: a layout for 4 warps, others are for 2"),
        (GOOD, f"add %w, %w : fp32[64] {PAIRS}", f"add %w, %v : fp32[64] {PAIRS}",
         "add: its blocks are held in two ways"),
        (GOOD, f"add %w, %w : fp32[64] {PAIRS}", f"add %w, %w : fp32[64] {PAIRS} run 4",
         "add: runs of 4 in 2 registers"),
        (GOOD, "store %at, %z", "store %at, %s", "store: its blocks are held in two ways"),
        (GOOD, "volatile=false, vector=1", "volatile=false, vector=2",
         "load: no vectors of 2 neighbours"),
        (GOOD, 'eviction="", vector=1}\n', 'eviction="", vector=3}\n', "store: no vectors of 3"),
        (GOOD, COLUMN, COLUMN.replace("l=1,2", "l=2,1"), "expand_dims: its elements are not where"),
        (GOOD, WIDE, WIDE.replace("l=2,4", "l=4,2"), "broadcast: elements of .* are not where"),
        (GOOD, ACROSS, ACROSS.replace("l=1,2", "l=2,1"), "permute: its elements are not where"),
        (GOOD, f"%a: fp32[64] {PAIRS}", f"%a: fp32[64] {ROW}", "for: its blocks are held in two"),
        (GOOD, f"convert %v : fp32[64] {PAIRS}", f"convert %v : fp32[64] {SHARED}",
         "add: operand 0 lies in shared memory"),
        (GOOD, f"add %w, %w : fp32[64] {PAIRS}", f"add %w, %w : fp32[64] {SHARED}",
         "add: puts a block into shared memory"),
        (PIPELINED, "slots=2", "slots=0", "ring: 0 slots"),
        (PIPELINED, "slot %ring, %n", "slot %n, %n", "slot: names no ring"),
        (PIPELINED, f"slot %ring, %n {{shape=(64,), element=!fp32}} : fp32[64] {SHARED}",
         f"slot %ring, %n {{shape=(64,), element=!fp32}} : fp32[64] {SWAPPED}",
         "ring: its slots are filled and read in two ways"),
        (PIPELINED, f"slot %ring, %n {{shape=(64,), element=!fp32}} : fp32[64] {SHARED}",
         f"slot %ring, %n {{shape=(64,), element=!int32}} : int32[64] {SHARED}",
         "slot: reads .* out of a ring of fp32"),
        (PIPELINED, f"slot %ring, %n {{shape=(64,), element=!fp32}} : fp32[64] {SHARED}",
         f"slot %ring, %n {{shape=(64,), element=!fp32}} : fp32[64] {COPIED}", "in two ways"),
        (PIPELINED, "  async_commit", "  %no = add %ring, %n : int32\n  async_commit",
         "add: a ring is for"),
        (PIPELINED, "vector=4", "vector=8", "async_copy: no lane copies 8 elements of fp32"),
        (PIPELINED, COPIED, COPIED.replace("r=1,2,4", "r=2,1,4"), "async_copy: no vectors of 4"),
        (PIPELINED, "element=!fp32} : int32", "element=!int32} : int32",
         "async_copy: copies .* into a ring of int32"),
        (PIPELINED.split("  %block")[0], f"layout={SHARED}", f"layout={COPIED}",
         "async_copy: copies a block of .* to layout"),
        (PIPELINED, "pending=0", "pending=-1", "async_wait: waits for -1"),
        (PRODUCT, "add %done, %done", "add %done, %acc", "add: operand 1 is sums that are still in"),
        (PRODUCT, "    yield %more", f"    %no = add %more, %zero : fp32[64, 8] {SUMS}\n    yield %no",
         "add: operand 0 is sums that are still in flight"),
        (PRODUCT, "    yield %more", f"    %no = dot %a, %b, %more {DOT.replace('true', 'false')}"
         f" : fp32[64, 8] {SUMS}\n    yield %no", "dot: operand 2 is sums that are still in flight"),
        (PRODUCT, "%done = dot_wait %acc {pending=0} : fp32[64, 8] " + SUMS,
         "%done = dot_wait %acc {pending=0} : fp32[64, 8] " + SUMS.replace("r=1,64", "r=64,1"),
         "dot_wait: its blocks are held in two ways"),
        (PRODUCT, "    yield %more", f"    %no = dot %a, %b, %zero {DOT} : fp32[64, 8] "
         f"{SUMS.replace('r=1,64', 'r=64,1')}\n    yield %more",
         "dot: its blocks are held in two ways"),
        (PRODUCT, f"%a = slot %ra, %n {{shape=(64, 16,), element=!fp16}} : fp16[64, 16] {A}",
         f"%a = constant {{type=!fp16[64, 16], value=0.0}} : fp16[64, 16] {FACTOR}",
         "dot: warps hold other rows"),
        (PRODUCT, f"%b = slot %rb, %n {{shape=(16, 8,), element=!fp16}} : fp16[16, 8] {B}",
         "%b = constant {type=!fp16[16, 8], value=0.0} : fp16[16, 8] "
         "layout<16x8; r=; l=1,2,4,8,16; w=32,64>", "the second does not"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_said(body: str, old: str, new: str, said: str) -> None:
    assert old in body
    with pytest.raises(Malformed, match=said):
        checked(body.replace(old, new))
