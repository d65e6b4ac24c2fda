"""`blockstep explain KIND`: what a kind is, its smallest program, what to do, what is left out.

Invariant: every kind in `KINDS` has an entry; programs are complete but for imports and arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, fill, indent

from blockstep.findings import CHECKERS, KINDS

WIDTH = 92


@dataclass(frozen=True, slots=True)
class Explanation:
    """The four parts of an explanation; `program` is source text."""

    what: str
    program: str
    do: str
    silent: str


EXPLANATIONS: dict[str, Explanation] = {
    "out-of-bounds": Explanation(
        "A load, store or atomic touches memory outside the argument that its pointer "
        "came from: past an end, between the rows of a strided view, through a null "
        "pointer. The argument counts as it was passed, with its shape and strides, even "
        "where another array happens to lie next to it. It is a warning when another "
        "argument, or strides passed as scalars, explain the place.",
        """
        @triton.jit
        def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
            offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out_ptr + offs, tl.load(x_ptr + offs))      # x has 1000 elements

        copy[(8,)](x, out, BLOCK=128)
        """,
        "Mask what lies outside: tl.load(x_ptr + offs, mask=offs < n). A tl.where around "
        "the load does not stop the load. For a view, pass its strides and step by them.",
        "Elements that the mask switches off; loads in a branch that is not taken.",
    ),
    "alignment": Explanation(
        "An access that does not start at a multiple of its element's size. A GPU stops at it.",
        """
        @triton.jit
        def peek(bytes_ptr, out_ptr):
            p = (bytes_ptr + 1).to(tl.pointer_type(tl.float32))
            tl.store(out_ptr, tl.load(p))
        """,
        "Start at a multiple of the size, or load bytes and put them together.",
        "Accesses that are aligned by size but not for a wider vector load: the compiler "
        "sees to those.",
    ),
    "race": Explanation(
        "Two program instances of one launch touch the same bytes, at least one of them "
        "writes, and nothing orders them. Program instances run in any order, at the same "
        "time or not; only an atomic that releases, and one that acquires what it wrote, "
        "order what stands before and after them. It is a warning when both write the "
        "same bytes.",
        """
        @triton.jit
        def total(x_ptr, total_ptr):
            s = tl.load(x_ptr + tl.program_id(0))
            tl.store(total_ptr, tl.load(total_ptr) + s)

        total[(2,)](x, out)
        """,
        "Use tl.atomic_add, or give each program instance its own element and combine "
        "them in a second launch. Around a lock: acquire before, release after, and a "
        "tl.debug_barrier() before the release.",
        "Two atomics on one element; accesses of two launches (launches on one stream are "
        "ordered).",
    ),
    "overlap": Explanation(
        "One program instance touches an element twice in a way that its threads may see "
        "in either order: two elements of one store, or two stores, with different values "
        "(error); a store read back through other offsets with no barrier between "
        "(warning).",
        """
        @triton.jit
        def scatter(idx_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            idx = tl.load(idx_ptr + offs)                        # holds the same index twice
            tl.store(out_ptr + idx, tl.load(x_ptr + offs))
        """,
        "Make the offsets distinct, add with tl.atomic_add, put tl.debug_barrier() "
        "between, or keep the value in a variable.",
        "The same value written twice; a load with the same offsets and mask as the store.",
    ),
    "uninitialised": Explanation(
        "A value that nothing has written: memory from an `empty` factory, or the "
        "elements that a masked load without `other` leaves out. The latter are followed "
        "through the arithmetic, and reported when they are stored, decide a branch, or "
        "become an offset, a mask or the bound of a loop.",
        """
        @triton.jit
        def row_max(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            x = tl.load(x_ptr + offs, mask=offs < n)
            tl.store(out_ptr, tl.max(x, axis=0))
        """,
        "Give the load a neutral value, other=0.0 or other=-float('inf'); allocate with zeros.",
        "Undefined elements that only reach a store whose mask switches them off; memory "
        "that was allocated outside the factories that blockstep watches counts as "
        "written.",
    ),
    "overflow": Explanation(
        "Integer arithmetic left the range of its type, and the wrapped value became an "
        "offset, a mask or the bound of a loop; or a shift by at least the width of the "
        "type.",
        """
        @triton.jit
        def rows(x_ptr, out_ptr, stride):
            row = tl.program_id(0)                               # int32, and so is stride
            tl.store(out_ptr + row, tl.load(x_ptr + row * stride))

        rows[(70_000,)](x, out, 65_536)
        """,
        "Widen before the product: row.to(tl.int64) * stride.",
        "Wrapping that stays in values, such as hashes and random numbers.",
    ),
    "division": Explanation(
        "An integer division or remainder by zero. A GPU does not stop at it; the result "
        "is not defined.",
        """
        @triton.jit
        def mean(sum_ptr, count_ptr, out_ptr):
            i = tl.program_id(0)
            tl.store(out_ptr + i, tl.load(sum_ptr + i) // tl.load(count_ptr + i))
        """,
        "Replace a zero divisor: a // tl.where(b == 0, 1, b).",
        "Division of floats, which is defined; elements whose result is masked off everywhere.",
    ),
    "cast": Explanation(
        "A conversion to an integer type that cannot hold the value: a wide integer that "
        "loses bits, a float out of range or not a number.",
        """
        @triton.jit
        def pack(x_ptr, out_ptr):
            tl.store(out_ptr, tl.load(x_ptr).to(tl.int8))        # holds 300
        """,
        "Clamp first, or convert to a wider type. Mask low bits away on purpose: (x & "
        "0xff).to(tl.uint8).",
        "Floats that lose digits: that is a matter of precision.",
    ),
    "grid": Explanation(
        "A grid past the limits of the device (error), outputs of which a launch leaves "
        "elements unwritten (warning), program instances that touch no memory (note).",
        """
        @triton.jit
        def mark(out_ptr):
            tl.store(out_ptr + tl.program_id(1), 1)

        mark[(1, 65_536)](out)                                   # y and z end at 65535
        """,
        "Put the long axis first, or loop in the kernel; derive the grid with triton.cdiv.",
        "Outputs that were written before the launch; anything about outputs when only "
        "some program instances run.",
    ),
    "hint": Explanation(
        "A promise that does not hold: tl.multiple_of, tl.max_contiguous, "
        "tl.max_constancy, tl.assume. The compiler builds on it, and the kernel is wrong "
        "where it is false.",
        """
        @triton.jit
        def copy(x_ptr, out_ptr, start, BLOCK: tl.constexpr):
            offs = tl.multiple_of(start, 16) + tl.arange(0, BLOCK)
            tl.store(out_ptr + offs, tl.load(x_ptr + offs))

        copy[(1,)](x, out, 8, BLOCK=16)
        """,
        "Remove the hint, or promise what holds.",
        "Hints that hold in the runs that were made: other arguments may break them.",
    ),
    "order": Explanation(
        "An output that changes with the order of program instances. `--seeds N` runs N "
        "orders and compares; `--seed K` runs one of them again.",
        """
        @triton.jit
        def last(out_ptr):
            tl.atomic_xchg(out_ptr, tl.program_id(0))

        last[(4,)](out)
        """,
        "Let each program instance write its own elements; sort or reduce in a second launch.",
        "Orders that were not tried. Sums of floats by atomics differ by rounding; the "
        "note says so.",
    ),
    "deadlock": Explanation(
        "Every program instance that is left waits in a loop for a value that nobody is "
        "left to write.",
        """
        @triton.jit
        def wait(flag_ptr):
            while tl.atomic_add(flag_ptr, 0) == 0:
                pass

        wait[(1,)](flag)
        """,
        "Set the flag, or give the lock back, on every path.",
        "Waits that end here but not on a device where fewer program instances run at once.",
    ),
    "assert": Explanation(
        "A tl.device_assert whose condition is false for an element. Asserts are always on here.",
        """
        @triton.jit
        def gather(idx_ptr, n):
            tl.device_assert(tl.load(idx_ptr) < n, "index past the table")
        """,
        "Read the values in the message, then `blockstep debug` at that program instance.",
        "Elements that the mask of the assert switches off.",
    ),
    "precision": Explanation(
        "NaN reaches memory (a store, an atomic), is a condition itself, or is compared and "
        "the answer decides a branch, a mask, an address or a loop. NaN is often legal, so "
        "this is only judged where it is asked for: --precision beside the other checkers, "
        "or --only precision. The finding says where the NaN was born: the operation, the "
        "program instance, the element and its operands; or that it came in with an argument. "
        "Also told: a matrix product that rounds float32 to tf32, where nothing asks for it.",
        """
        @triton.jit
        def softmax(x_ptr, out_ptr, BLOCK: tl.constexpr):
            offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + offs)                            # a row of -inf: all masked
            e = tl.exp(x - tl.max(x, axis=0))                    # -inf - -inf
            tl.store(out_ptr + offs, e / tl.sum(e, axis=0))
        """,
        "Look at the operands of the birth. `-inf - -inf`: replace the maximum of a row that "
        "is masked everywhere. `inf - inf`, `inf / inf`: something overflowed before; scale, "
        "or compute in float32. `0 / 0`: guard the divisor. `0 * inf`: choose with tl.where "
        "instead of multiplying by a mask. rsqrt of a number below zero: clamp the variance.",
        "NaN that tl.where, a maximum or a mask discards; comparisons that only choose "
        "(tl.where(x > 0, x, 0)); tests for NaN (x == x) and for infinity.",
    ),
    "compile": Explanation(
        "A kernel that the language does not allow: types that do not meet, shapes that "
        "do not broadcast, a block whose size is no power of two, a missing constexpr.",
        """
        @triton.jit
        def odd(out_ptr):
            tl.store(out_ptr + tl.arange(0, 100), 0)             # 100 is no power of two
        """,
        "Follow the help: the rule is the one of Triton's own compiler.",
        "Rules of a compiled layout that do not show in the source.",
    ),
    "unsupported": Explanation(
        "Something the language allows and blockstep cannot run yet. It is no verdict on "
        "the kernel.",
        """
        @triton.jit
        def raw(out_ptr):
            tl.inline_asm_elementwise("...", "=r,r", [0], tl.int32, True, 1)
        """,
        "Use the alternative in the help, where there is one, or skip the launch with --kernel.",
        "Nothing: what cannot be run is always said.",
    ),
    "internal": Explanation(
        "Blockstep broke one of its own rules. It is no verdict on the kernel.",
        """
        # no program is known that shows it: if you have one, please report it
        """,
        "Report it, with the kernel and the arguments of the launch.",
        "Nothing.",
    ),
    "barrier": Explanation(
        "In compiled code, on the ptx machine: a barrier that some threads do not reach; a part of "
        "a warp, or of a warpgroup, at an instruction that all of it has to run (`.aligned`); lanes "
        "that a member mask names and that are elsewhere; an mbarrier that is not set up, or that "
        "more threads arrive at than it counts.",
        """
        // PTX
        @%p bra done;                                            // %p differs between threads
        bar.sync 0;
        done:
        """,
        "Keep barriers out of branches that differ between threads. In code that a compiler made "
        "from a clean kernel, report it to the compiler's authors.",
        "Barriers in code that no thread reaches; threads that have ended, which nobody waits for.",
    ),
    "async": Explanation(
        "In compiled code, on the ptx machine: shared memory and what works on it beside the "
        "threads. It is read before the copy into it has been waited for, or overwritten (or its "
        "CTA ends) while a copy or a wgmma still reads it; or the sums of a wgmma are used before "
        "its group has been waited for. Or a thread wrote it, and no "
        "fence.proxy.async stands between that and a wgmma or a bulk copy that reads or overwrites "
        "it. Or an mbarrier is used by a thread that nothing has told of its mbarrier.init. What "
        "one thread has waited for, another one may only use behind a barrier: that is a `race`.",
        """
        // PTX: two staging buffers; the third chunk goes into the first one again
        @%p cp.async.bulk.wait_group.read 1;                     // leaves the copy before last
        bar.sync 1, 128;                                         // ... of this very buffer
        st.shared.b32 [%r1], %r2;
        """,
        "Wait for the group, or for the phase of the mbarrier, and put a barrier behind the wait. "
        "Fence after writing and before the barrier.",
        "What only a missing fence between an mbarrier.init and the copy engine of the same CTA "
        "would be: a barrier is taken to be enough. cp.async writes as threads do, and needs no "
        "fence here. Groups of cp.async that nobody reads.",
    ),
    "compiler": Explanation(
        "The compiled kernel gives another result than its source, past what rounding "
        "explains. The first rung that differs is named.",
        """
        # blockstep verify script.py
        """,
        "Report it to the compiler's authors, with the rung that differs.",
        "Differences within the error bound of the operations that ran.",
    ),
}


def explain(name: str) -> str:
    """The explanation of a kind, or of every kind of a checker."""
    kinds = [k for k in KINDS.values() if name in (k.name, k.checker)]
    if not kinds:
        known = ", ".join(dict.fromkeys((*KINDS, *CHECKERS)))
        raise ValueError(f"no kind or checker is called {name!r}; there are {known}")
    exact = [k for k in kinds if k.name == name]
    return "\n\n".join(_text(k.name) for k in exact or kinds)


def _text(kind: str) -> str:
    about, what = KINDS[kind], EXPLANATIONS[kind]
    head = f"{kind}: {about.title} ({about.severity.value}, checker {about.checker})"
    parts = [
        head,
        fill(what.what, WIDTH),
        indent(dedent(what.program).strip("\n"), "    "),
        fill(f"What to do: {what.do}", WIDTH),
        fill(f"Not reported: {what.silent}", WIDTH),
    ]
    if about.name not in ("unsupported", "internal"):
        parts.append(f"To allow it on a line: # blockstep: allow({kind})")
    return "\n\n".join(parts)
