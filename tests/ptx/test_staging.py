"""Chunks of a tile go to memory through staging buffers, as the epilogue of a persistent product does:
threads fill a buffer, one of them starts the copy engine, and waits until at most so many copies still
read. Where the chunks of a tile are no multiple of the buffers, the next tile begins with a buffer
that may still be read."""

from __future__ import annotations

import numpy as np
import pytest

from blockstep.interp.ptx.faults import Report
from tests.ptx.programs import run

BYTES = 256  # of a chunk: 64 threads, 4 bytes each


def staged(chunks: int, buffers: int, tiles: int, first: int | None = None) -> tuple[Report, bool]:
    """A CTA of 64 threads writes `tiles` tiles; `first` is how many copies may be left before the
    first chunk of a tile. The report, and whether memory is right."""
    body = [
        f".shared .align 128 .b8 stage[{buffers * BYTES}]; mov.u32 %r2, stage; "
        "mad.lo.u32 %r4, %r0, 4, %r2; setp.eq.u32 %p1, %r0, 0; mov.u32 %r5, 0; mov.u32 %r6, %r0; "
        "mov.u64 %d3, %d0; next:"
    ]
    for chunk in range(chunks):
        at = chunk % buffers * BYTES
        left = first if first is not None and chunk == 0 else buffers - 1
        body.append(
            f"@%p1 cp.async.bulk.wait_group.read {left}; bar.sync 1, 64;\n"
            f"st.shared.u32 [%r4+{at}], %r6; add.u32 %r6, %r6, 64;\n"
            "fence.proxy.async.shared::cta; bar.sync 1, 64;\n"
            f"@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d3], [stage+{at}], {BYTES};\n"
            f"@%p1 cp.async.bulk.commit_group; add.u64 %d3, %d3, {BYTES};"
        )
    body.append(
        f"add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, {tiles}; @%p2 bra next;\n"
        "@%p1 cp.async.bulk.wait_group 0;"
    )
    out = np.zeros(tiles * chunks * BYTES // 4, np.uint32)
    report = run("\n".join(body), out, threads=64)
    return report, bool((out == np.arange(out.size)).all())


@pytest.mark.parametrize(("chunks", "buffers", "tiles"), [(3, 2, 2), (5, 2, 2), (4, 3, 2)])
def test_chunks_that_are_no_multiple_of_the_buffers_race_from_tile_to_tile(
    chunks: int, buffers: int, tiles: int
) -> None:
    report, right = staged(chunks, buffers, tiles)
    assert right  # nothing but the order tells
    assert [(f.kind, f.what) for f in report.faults] == [
        ("async", "write of what a bulk copy still reads")
    ]
    fault = report.faults[0]
    assert "st.shared.u32 [%r4+0]" in fault.place.text
    assert fault.related is not None
    assert "cp.async.bulk.global" in fault.related.text


@pytest.mark.parametrize(
    ("chunks", "buffers", "tiles", "first"),
    [(3, 2, 1, None), (4, 2, 3, None), (3, 3, 2, None), (1, 1, 3, None), (3, 2, 3, 0)],
    ids=["one tile", "a multiple", "as many", "one", "waits for all at first"],
)
def test_chunks_that_wait_for_their_buffer_do_not_race(
    chunks: int, buffers: int, tiles: int, first: int | None
) -> None:
    report, right = staged(chunks, buffers, tiles, first)
    assert right
    assert report.faults == []
