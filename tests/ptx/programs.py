"""Short PTX programs for tests: `run` puts a body into a kernel with pointers as parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.machine import Report, run_ptx

_KERNEL = """.version 8.4
.target sm_90a
.address_size 64
{globals}
.visible .entry kernel({parameters})
{{
    .reg .pred %p<16>;
    .reg .b16 %h<16>;
    .reg .b32 %r<64>;
    .reg .f32 %f<16>;
    .reg .b64 %d<32>;
{loads}
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d16, %r0, 4;
{body}
    ret;
}}
"""


def kernel(body: str, arguments: int, globals: str = "") -> str:
    """A kernel: parameter n is in %d{n}, %tid.x in %r0 and four times that in %d16."""
    names = range(arguments)
    return _KERNEL.format(
        globals=globals,
        parameters=", ".join(f".param .u64 a{n}" for n in names),
        loads="\n".join(f"    ld.param.u64 %d{n}, [a{n}];" for n in names),
        body=body,
    )


def run(
    body: str, *arguments: Any, threads: int = 32, ctas: int = 1, globals: str = "", **options: Any
) -> Report:
    """Run a body on arrays."""
    text = kernel(body, len(arguments), globals)
    return run_ptx(text, "kernel", (ctas,), (threads,), arguments, **options)


def each(body: str, threads: int = 32, ctas: int = 1, globals: str = "", **options: Any) -> Any:
    """What every thread of the first CTA leaves in %r1, as int64."""
    out = np.zeros(threads, np.uint32)
    store = "\n    add.u64 %d17, %d0, %d16;\n    st.global.u32 [%d17], %r1;"
    report = run(body + store, out, threads=threads, ctas=ctas, globals=globals, **options)
    assert report.faults == [], [str(f) for f in report.faults]
    return out.astype(np.int64)


def kinds(report: Report) -> list[str]:
    """The kinds of a report's faults."""
    return [fault.kind for fault in report.faults]
