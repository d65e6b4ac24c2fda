"""What the ptx machine sees, as findings: title, place in the kernel and in the PTX, who, what mends it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blockstep.diagnostics import describe, explain, render
from blockstep.export import to_json, to_sarif
from blockstep.findings import Finding, Report
from blockstep.interp.events import Launched
from blockstep.interp.ptx.faults import Report as Seen
from blockstep.interp.ptx.faults import Trap
from blockstep.interp.ptx.machine import run_ptx
from blockstep.runtime.ptx.judging import events_of

SOURCE = """import blockstep.language as tl

def kernel(out_ptr):
    x = tl.load(out_ptr)
    y = tl.sum(x, axis=0)
    tl.store(out_ptr, y)
"""
PTX = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 a0)
{{
    .reg .pred %p<8>;
    .reg .b32 %r<16>;
    .reg .b64 %d<8>;
    .shared .align 128 .b8 memory[1024];
    .shared .align 8 .b64 bar;
    ld.param.u64 %d0, [a0];
    mov.u32 %r0, %tid.x;
    setp.eq.u32 %p2, %r0, 0;
    mov.u32 %r2, memory;
    mad.lo.u32 %r4, %r0, 4, %r2;
    xor.b32 %r5, %r0, 32;
    mad.lo.u32 %r6, %r5, 4, %r2;
    .loc 1 4 9
    {first}
    .loc 1 5 9
    {second}
    ret;
}}
.file 1 "{file}"
"""
WRITE, READ = "st.shared.u32 [%r4], %r0;", "ld.shared.u32 %r1, [%r6];"
SAVE = (
    "bar.sync 0; @%p2 cp.async.bulk.global.shared::cta.bulk_group [%d0], [memory], 256; "
    "@%p2 cp.async.bulk.commit_group; @%p2 cp.async.bulk.wait_group.read 0;"
)


def findings(tmp_path: Path, first: str, second: str, size: int = 1024) -> list[Finding]:
    """What two lines of a kernel that stand for two lines of PTX lead to, on CTA 1 of 2."""
    file = tmp_path / "sums.py"
    file.write_text(SOURCE)
    text = PTX.format(first=first, second=second, file=file)
    seen = Seen()
    try:
        out = np.zeros(size, np.uint32)
        run_ptx(text, "kernel", (2,), (64,), [out], report=seen)
    except Trap:
        pass
    launched = Launched(lambda event: None, "kernel", (2, 1, 1))
    return [describe(event) for event in events_of(seen, launched)]


def test_a_race_shows_both_lines_of_the_kernel_and_of_the_ptx(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, WRITE, READ)
    text = render(found)
    assert found.kind == "race"
    assert found.program == (0, 0, 0)
    for part in (
        "sums.py:5:9 in kernel",
        "4 |     x = tl.load(out_ptr)",
        "5 |     y = tl.sum(x, axis=0)",
        "st.shared.u32 [%r4], %r0;",
        "ld.shared.u32 %r1, [%r6];",
        "(warp 1, lane 0)",
        "help: a barrier between the two: bar.sync",
    ):
        assert part in text, text


@pytest.mark.parametrize(
    ("first", "second", "kind", "title", "help"),
    [
        (WRITE, SAVE, "async", "lacks a fence.proxy.async: a bulk copy reads", "fence.proxy.async by the threads"),
        (
            WRITE + " fence.proxy.async;", SAVE.rpartition("@%p2")[0], "async",
            "a CTA ends while a bulk copy reads its memory", "cp.async.bulk.wait_group.read 0",
        ),
        (
            "@%p2 mbarrier.init.shared.b64 [bar], 64;", "mbarrier.arrive.shared.b64 _, [bar];",
            "async", "setting up nothing orders before", "a barrier after mbarrier.init",
        ),
        (
            WRITE, "setp.lt.u32 %p1, %r0, 32; @%p1 bra on; bar.sync 1, 64; on:", "barrier",
            "not reached by all threads", "",
        ),
        (
            WRITE, "ld.shared.u32 %r1, [%r4+1024];", "out-of-bounds", "outside of shared memory", "",
        ),
        (WRITE, "ld.shared.v2.u32 {%r1, %r3}, [%r4];", "alignment", "touches shared memory", ""),
    ],
)  # fmt: skip
def test_a_fault_says_what_is_wrong_and_what_mends_it(
    tmp_path: Path, first: str, second: str, kind: str, title: str, help: str
) -> None:
    found = findings(tmp_path, first, second)[0]
    assert (found.kind, found.span.line, found.span.file) == (kind, 5, str(tmp_path / "sums.py"))
    assert title in found.message
    assert help in " ".join(found.help)


def test_faults_are_exported_like_other_findings(tmp_path: Path) -> None:
    report = Report()
    for one in findings(tmp_path, WRITE, READ):
        report.add(one)
    (told,) = to_json(report)["findings"]
    assert (told["kind"], told["program"]) == ("race", [0, 0, 0])
    assert told["related"][0]["line"] == 4
    assert "race" in json.dumps(to_sarif(report))


def test_the_kinds_of_compiled_code_are_explained() -> None:
    assert "fence.proxy.async" in explain("async")
    assert "mbarrier" in explain("barrier")
