"""A child that compiles nothing: it answers every request with the PTX of `add_one`, as Triton 3.6
would make it. Run as `child.py` is, for tests of what the parent does with an answer.

A constant of the kernel named REFUSE makes it answer with an error, and DIE ends it.
"""

from __future__ import annotations

import json
import sys

PTX = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry add_one(
	.param .u64 .ptr .global .align 1 p0,
	.param .u32 p1,
	.param .u64 .ptr .global .align 1 p2,
	.param .u64 .ptr .global .align 1 p3
)
.reqntid 32
{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [p0];
	ld.param.b32 %r1, [p1];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %ctaid.x;
	shl.b32 %r4, %r3, 5;
	or.b32 %r5, %r4, %r2;
	setp.lt.s32 %p1, %r5, %r1;
	mul.wide.s32 %rd2, %r5, 4;
	add.s64 %rd3, %rd1, %rd2;
	@%p1 ld.global.b32 %r6, [%rd3];
	add.s32 %r7, %r6, 1;
	@%p1 st.global.b32 [%rd3], %r7;
	ret;
}
"""
METADATA = {
    "name": "add_one", "shared": 0, "num_warps": 1, "num_ctas": 1, "global_scratch_size": 0,
    "global_scratch_align": 1, "profile_scratch_size": 0, "profile_scratch_align": 1,
}  # fmt: skip


def answer(request: dict[str, object]) -> dict[str, object]:
    """What to say to a request."""
    text = json.dumps(request)
    if "DIE" in text:
        print("Assertion `all is well' failed", file=sys.stderr, flush=True)
        sys.exit(3)
    if "REFUSE" in text:
        return {"error": "CompilationError: not today"}
    return {"ptx": PTX, "signature": ["*i32", "i32", "constexpr"], "metadata": METADATA}


print(json.dumps({"version": "0.0", "file": "", "environment": {}}), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
