"""How far values are from their shadows: one pass over both, in machine code.

NumPy needs a dozen passes for what one loop says: the sum of the errors in units in the last place,
the greatest of them, squares, and whether there is anything special (NaN, infinities, lost zeros) that
deserves a closer look. `plain` is the same in NumPy, and what `measured` is tested against.

A unit in the last place is that of the type at the shadow; below the type's normal numbers it is the
distance of its subnormal ones.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding as llvm

from blockstep.language.numerics import Format

_FIELDS = 7
_FEW = 256  # elements: below, a call costs more than NumPy


@dataclass(frozen=True, slots=True)
class Distance:
    """What one look at values and shadows says. Pairs that are not both finite are in `special` and
    nowhere else."""

    total: float  # of the errors in ulps
    worst: float
    squares: float  # of the shadows
    error_squares: float
    special: int
    lost: int  # zeros whose shadow is not
    subnormal: int  # that are not their shadow


def unit_at(shadow: Any, format: Format) -> Any:
    """The distance of the format's numbers at `shadow`."""
    least = 2.0 ** (1 - format.bias)
    _, exponent = np.frexp(np.maximum(np.abs(shadow), least))
    return np.ldexp(1.0, exponent - 1 - format.fraction)


def ulps(value: Any, shadow: Any, format: Format) -> Any:
    """Errors in units in the last place; 0 where value or shadow is not finite."""
    with np.errstate(all="ignore"):
        found = np.abs(value - shadow) / unit_at(shadow, format)
    return np.where(np.isfinite(value) & np.isfinite(shadow), found, 0.0)


def plain(value: Any, shadow: Any, format: Format) -> Distance:
    """By definition. Arrays of one shape."""
    value = np.asarray(value, np.float64)
    there = np.isfinite(value) & np.isfinite(shadow)
    value, shadow = value[there], np.asarray(shadow)[there]
    off = ulps(value, shadow, format)
    least = 2.0 ** (1 - format.bias)
    small = (np.abs(value) < least) & (value != 0) & (value != shadow)
    with np.errstate(over="ignore"):
        return Distance(
            float(off.sum()), float(off.max(initial=0.0)), float(np.sum(shadow * shadow)),
            float(np.sum((value - shadow) ** 2)), int(there.size - np.count_nonzero(there)),
            int(np.count_nonzero((value == 0) & (shadow != 0))), int(np.count_nonzero(small)),
        )  # fmt: skip


def measured(value: Any, shadow: Any, format: Format) -> Distance:
    """The same of two arrays of one shape; `value` is float32 or float64."""
    if value.size < _FEW:
        return plain(value, shadow, format)
    value, shadow = np.ascontiguousarray(value), np.ascontiguousarray(shadow)
    out = (ctypes.c_double * _FIELDS)()
    _loop(value.dtype.char)(
        value.ctypes.data, shadow.ctypes.data, value.size, 2.0 ** (1 - format.bias),
        2.0**format.fraction, out,
    )  # fmt: skip
    return Distance(out[0], out[1], out[2], out[3], int(out[4]), int(out[5]), int(out[6]))


def where_worst(value: Any, shadow: Any, format: Format, seen: Distance) -> int:
    """The flat index of the first element with the greatest error, which `measured` has `seen`: by
    halving, since looking is cheap."""
    value, shadow = np.ravel(value), np.ravel(shadow)
    first, count = 0, value.size
    while count > _FEW:
        half = count // 2
        part = slice(first, first + half)
        if measured(value[part], shadow[part], format).worst != seen.worst:
            first, half = first + half, count - half
        count = half
    part = slice(first, first + count)
    return first + int(np.argmax(ulps(np.asarray(value[part], np.float64), shadow[part], format)))


_LOCK = threading.Lock()
_ENGINES: list[Any] = []  # own the machine code


@cache
def _loop(char: str) -> Any:
    with _LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
        )
        module = llvm.parse_assembly(_text(char))
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        passes = llvm.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        _ENGINES.append(engine)
        address = engine.get_function_address("measure")
    double, pointer = ctypes.c_double, ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_int64, double, double, pointer)
    return kind(address)


def _text(char: str) -> str:
    """The loop. All sums are over elements that are finite on both sides (others are replaced by zeros
    first), and their order is free: so they are taken apart into vectors."""
    wide = "  %v = fpext float %v0 to double" if char == "f" else "  %v = fadd double %v0, 0.0"
    source = "float" if char == "f" else "double"
    sums = ["total", "worst", "squares", "off2"]
    counts = ["special", "lost", "small"]
    phis = "\n".join(
        [f"  %{n} = phi double [0.0, %entry], [%{n}1, %loop]" for n in sums]
        + [f"  %{n} = phi i64 [0, %entry], [%{n}1, %loop]" for n in counts]
    )
    stores = "\n".join(
        f"  %p{k} = getelementptr double, double* %out, i64 {k}\n"
        f"  store double %r{k}, double* %p{k}"
        for k in range(_FIELDS)
    )
    results = "\n".join(
        [f"  %r{k} = phi double [0.0, %entry], [%{n}1, %loop]" for k, n in enumerate(sums)]
        + [f"  %c{k} = phi i64 [0, %entry], [%{n}1, %loop]" for k, n in enumerate(counts, 4)]
    )
    counted = "\n".join(f"  %r{k} = sitofp i64 %c{k} to double" for k in (4, 5, 6))
    return f"""
target triple = "{llvm.get_default_triple()}"
declare double @llvm.fabs.f64(double)
define void @measure({source}* noalias readonly %vs, double* noalias readonly %ss, i64 %n,
                     double %least, double %scale, double* noalias %out) {{
entry:
  %none = icmp sle i64 %n, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
{phis}
  %vp = getelementptr {source}, {source}* %vs, i64 %i
  %sp = getelementptr double, double* %ss, i64 %i
  %v0 = load {source}, {source}* %vp
  %s0 = load double, double* %sp
{wide}
  %va0 = call double @llvm.fabs.f64(double %v)
  %sa0 = call double @llvm.fabs.f64(double %s0)
  %vf = fcmp olt double %va0, 0x7FF0000000000000
  %sf = fcmp olt double %sa0, 0x7FF0000000000000
  %fine = and i1 %vf, %sf
  %w = select i1 %fine, double %v, double 0.0
  %s = select i1 %fine, double %s0, double 0.0
  %wa = call double @llvm.fabs.f64(double %w)
  %sa = call double @llvm.fabs.f64(double %s)
  %d0 = fsub double %w, %s
  %d = call double @llvm.fabs.f64(double %d0)
  %above = fcmp ogt double %sa, %least
  %at = select i1 %above, double %sa, double %least
  %bits = bitcast double %at to i64
  %power = and i64 %bits, 9218868437227405312
  %turned = sub i64 9214364837600034816, %power
  %inverse = bitcast i64 %turned to double
  %u0 = fmul double %d, %inverse
  %u = fmul double %u0, %scale
  %total1 = fadd reassoc nsz contract double %total, %u
  %more = fcmp nnan nsz ogt double %u, %worst
  %worst1 = select nnan nsz i1 %more, double %u, double %worst
  %s2 = fmul contract double %s, %s
  %squares1 = fadd reassoc nsz contract double %squares, %s2
  %d2 = fmul contract double %d, %d
  %off21 = fadd reassoc nsz contract double %off2, %d2
  %odd = xor i1 %fine, true
  %odd64 = zext i1 %odd to i64
  %special1 = add i64 %special, %odd64
  %zero = fcmp oeq double %w, 0.0
  %there = fcmp une double %s, 0.0
  %gone = and i1 %zero, %there
  %gone64 = zext i1 %gone to i64
  %lost1 = add i64 %lost, %gone64
  %below = fcmp olt double %wa, %least
  %some = fcmp une double %w, 0.0
  %differs = fcmp une double %w, %s
  %tiny0 = and i1 %below, %some
  %tiny = and i1 %tiny0, %differs
  %tiny64 = zext i1 %tiny to i64
  %small1 = add i64 %small, %tiny64
  %i1 = add nuw nsw i64 %i, 1
  %last = icmp eq i64 %i1, %n
  br i1 %last, label %done, label %loop
done:
{results}
{counted}
{stores}
  ret void
}}
"""


__all__ = ["Distance", "measured", "plain", "ulps", "unit_at", "where_worst"]
