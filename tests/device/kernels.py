"""Hand-written PTX for the tests of the gpu machine, and the arrays that they need."""

from __future__ import annotations

from typing import Any

from blockstep.runtime.gpu import FAULTS, Binary, Box, Param, Site

VECTOR_ADD = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n)
{
    .reg .b32 %r<8>;
    .reg .b64 %a<8>;
    .reg .f32 %f<4>;
    .reg .pred %p;
    ld.param.u64 %a1, [x];
    ld.param.u64 %a2, [y];
    ld.param.u64 %a3, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra DONE;
    mul.wide.u32 %a4, %r5, 4;
    add.u64 %a1, %a1, %a4;
    add.u64 %a2, %a2, %a4;
    add.u64 %a3, %a3, %a4;
    ld.global.f32 %f1, [%a1];
    ld.global.f32 %f2, [%a2];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%a3], %f3;
DONE:
    ret;
}
"""

# Each CTA writes its rank in the cluster, and the number of CTAs of the cluster.
CLUSTER = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry ranks(.param .u64 out)
{
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    .reg .pred %p;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 0;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p bra DONE;
    ld.param.u64 %a1, [out];
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %a2, %r2, 8;
    add.u64 %a1, %a1, %a2;
    mov.u32 %r3, %cluster_ctarank;
    mov.u32 %r4, %cluster_nctarank;
    st.global.v2.u32 [%a1], {%r3, %r4};
DONE:
    ret;
}
"""

# Writes the sum of the shared memory that it was given, so that all of it must be there.
SHARED = """
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry shared(.param .u64 out, .param .u32 last)
{
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    ld.param.u64 %a1, [out];
    ld.param.u32 %r1, [last];
    mov.u32 %r2, memory;
    add.u32 %r3, %r2, %r1;
    st.shared.u32 [%r3], 41;
    ld.shared.u32 %r4, [%r3];
    add.u32 %r4, %r4, 1;
    st.global.u32 [%a1], %r4;
    ret;
}
"""

# The device_assert of the gpu machine: CTA 3 fails, with its second lane.
ASSERTION = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry checks(.param .u32 bad, .param .u64 record)
{
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    .reg .pred %p;
    ld.param.u32 %r1, [bad];
    ld.param.u64 %a1, [record];
    mov.u32 %r2, %ctaid.x;
    setp.ne.u32 %p, %r2, %r1;
    @%p bra DONE;
    mov.u32 %r3, %tid.x;
    setp.ne.u32 %p, %r3, 1;
    @%p bra DONE;
    atom.global.sys.cas.b32 %r4, [%a1], 0, 1;
    setp.ne.u32 %p, %r4, 0;
    @%p bra DONE;
    st.global.u32 [%a1+4], 0;
    st.global.u32 [%a1+8], %r2;
    st.global.u32 [%a1+12], 0;
    st.global.u32 [%a1+16], 0;
    st.global.u32 [%a1+20], %r3;
DONE:
    ret;
}
"""

# Copies a box of a tensor map to shared memory and from there to `out`, with one lane.
TENSOR_MAP = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry box(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 column)
{
    .reg .b32 %r<16>;
    .reg .b64 %a<6>;
    .reg .pred %p;
    .shared .align 128 .b8 block[256];
    .shared .align 8 .b64 barrier;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 0;
    @%p bra DONE;
    mov.b64 %a1, map;
    cvta.param.u64 %a1, %a1;
    ld.param.u64 %a2, [out];
    ld.param.u32 %r2, [column];
    mov.u32 %r3, block;
    mov.u32 %r4, barrier;
    mov.u32 %r5, 0;
    mbarrier.init.shared.b64 [%r4], 1;
    fence.proxy.async;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r3], [%a1, {%r2, %r5}], [%r4];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p, [%r4], 0;
    @!%p bra WAIT;
    mov.u32 %r6, 0;
COPY:
    add.u32 %r7, %r3, %r6;
    ld.shared.u32 %r8, [%r7];
    st.global.u32 [%a2], %r8;
    add.u64 %a2, %a2, 4;
    add.u32 %r6, %r6, 4;
    setp.lt.u32 %p, %r6, 256;
    @%p bra COPY;
DONE:
    ret;
}
"""


def vector_add(**rest: Any) -> Binary:
    """`add(x, y, out, n)` of float32, 128 elements a program instance."""
    parameters = (
        Param("pointer", "x"), Param("pointer", "y"), Param("pointer", "out"), Param("i32", "n"),
    )  # fmt: skip
    return Binary(VECTOR_ADD, "add", 0, 4, 1, parameters, writes=frozenset({"out"}), **rest)


def cluster_ranks(num_ctas: int) -> Binary:
    """`ranks(out)`: int32[CTAs, 2]."""
    return Binary(CLUSTER, "ranks", 0, 1, num_ctas, (Param("pointer", "out"),))


def shared_memory(nbytes: int) -> Binary:
    """`shared(out, last)`: 42, if the four bytes from `last` on can be used."""
    return Binary(SHARED, "shared", nbytes, 1, 1, (Param("pointer", "out"), Param("i32", "last")))


def assertion(site: Site) -> Binary:
    """`checks(bad)`: the assertion fails in program instance `bad`."""
    parameters = (Param("i32", "bad"), Param("pointer", FAULTS))
    return Binary(ASSERTION, "checks", 0, 1, 1, parameters, sites=(site,))


def boxed() -> Binary:
    """`box(x, out, column)`: out is x[0:4, column : column + 16] of float32, zero outside."""
    box = Box("x", "fp32", ("rows", "columns"), ("columns", 1), (4, 16))
    parameters = (Param("tensor_map", "x", box), Param("pointer", "out"), Param("i32", "column"))
    return Binary(TENSOR_MAP, "box", 0, 1, 1, parameters)
