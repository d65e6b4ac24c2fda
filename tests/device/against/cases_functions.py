"""Functions that hardware approximates, libdevice, random numbers and inline assembly."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.device.against import carriers, functions
from tests.device.against.case import STORED, Case, Random, crossed, edges, given, out, spread
from tests.device.against.cases_elementwise import TYPES
from tests.device.against.libdevice_table import KINDS, NONE, SIGNATURES, ULPS
from triton.language.extra.cuda import libdevice

N = 4096
CARRIERS = {1: carriers.of_one, 2: carriers.of_two, 3: carriers.of_three, 4: carriers.of_four}

# What the language's functions become on sm_90 (the PTX that Triton 3.6.0 emits), and how far that
# may be from the true value; one more unit for the rounding here.
LANGUAGE: dict[str, tuple[float, float]] = {
    "exp": (2, 1),  # ex2.approx of x log2(e): 2 units and the error of that product, see _bounded
    "exp2": (2, 1), "log": (1, 1), "log2": (1, 1), "sin": (2, 2), "cos": (2, 2),
    "sqrt": (1, 0), "sqrt_rn": (0, 0), "rsqrt": (2, 1), "erf": (2, 2),
}  # fmt: skip


def wide(kind: str) -> Any:
    """Edges, bit patterns, and numbers at which functions have something to say."""

    def make(random: Random) -> Any:
        fill = spread(kind, N)(random)
        middle = random.uniform(-12, 12, N // 2)
        near = random.uniform(-1.1, 1.1, N // 8)
        fill[-N // 2 :] = middle
        fill[N // 4 : N // 4 + N // 8] = near
        fill[: len(edges(kind))] = edges(kind)
        return fill

    return make


def _limit(name: str, kind: str, table: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """One unit more than the hardware may err, for the rounding here; subnormal float32 aside."""
    allowed = table.get(name, (0, 0))[kind == "fp64"]
    if allowed == NONE:
        return {"rule": "recorded"}
    return {"rule": "ulps", "limit": allowed + (allowed > 0)}


def mathematics() -> Iterator[Case]:
    """tl.exp and its like."""
    for name in LANGUAGE:
        for kind in ("fp32", "fp64") if name != "sqrt_rn" else ("fp32",):
            about = _limit(name, kind, LANGUAGE)
            if name == "exp" and kind == "fp32":
                about = {"rule": "ulps", "limit": 90}  # |x| 2^-24 log2(e) of an exponent up to 128
            buffers = [given(kind, N, wide(kind)), out(kind, N)]
            constants = {"X": (N,), "NX": N, "FN": getattr(functions, name)}
            yield Case(
                "mathematics", f"{name}({kind})", carriers.of_one, buffers, constants, **about
            )
    for name in ("sigmoid", "softmax"):
        buffers = [given("fp32", N, lambda r: r.uniform(-20, 20, N).astype("f4")), out("fp32", N)]
        shape = (64, 64) if name == "softmax" else (N,)
        constants = {"X": shape, "NX": N, "FN": getattr(functions, name)}
        yield Case("mathematics", f"{name}(fp32)", carriers.of_one, buffers, constants,
                   rule="ulps", limit=40)  # fmt: skip


def library() -> Iterator[Case]:
    """Every function of libdevice, with every signature."""
    for signature, names in SIGNATURES.items():
        operands, result = signature.split(":")
        for name in filter(partial(hasattr, libdevice), names.split()):
            kinds = [KINDS[letter] for letter in operands]
            fills = _operands(name, kinds)
            buffers = [given(k, N, f) for k, f in zip(kinds, fills, strict=True)]
            constants: dict[str, Any] = {"FN": getattr(libdevice, name)}
            for letter in "XYZW"[: len(kinds)]:
                constants |= {letter: (N,), f"N{letter}": N}
            about = _limit(name, KINDS[result], ULPS)
            if name == "rcp64h":  # two of the upper 32 bits
                about = {"rule": "ulps", "limit": 2 * 2**32}
            if name == "pow" and operands[1] == "i":  # repeated squaring, here as there
                about = {}
            yield Case("libdevice", f"{name}({signature})", CARRIERS[len(kinds)],
                       [*buffers, out(KINDS[result], N)], constants, **about)  # fmt: skip


def _operands(name: str, kinds: list[str]) -> list[Any]:
    if name in ("jn", "yn"):
        return [lambda r: r.integers(0, 12, N).astype("i4"), wide(kinds[1])]
    if name in ("ldexp", "scalbn") or (name == "pow" and kinds[1] == "i32"):
        return [wide(kinds[0]), lambda r: r.integers(-40, 40, N).astype("i4")]
    if len(kinds) == 2 and kinds[0] == kinds[1]:
        return crossed(kinds[0], kinds[1], N)
    return [wide(k) if STORED[k].kind == "f" else spread(k, N) for k in kinds]


def generators() -> Iterator[Case]:
    """Philox: words and uniform numbers bit for bit; normal ones by log, sqrt, sin and cos."""
    seeds = (0, 42, 2**31 - 1, 2**40 + 12345)
    for offsets in ("i32", "u32", "i64"):
        for seed in seeds:
            for name, result in (("randint", "u32"), ("randint_short", "u32"), ("rand", "fp32"),
                                 ("randn", "fp32")):  # fmt: skip
                constants = {"N": N, "FN": getattr(functions, name), "OFFSETS": TYPES[offsets]}
                yield Case("random", f"{name}({seed}, {offsets})", carriers.random_words,
                           [out(result, N)], constants, scalars=(seed,),
                           **_normal(name))  # fmt: skip
            for name, result in (("randint4x", "u32"), ("rand4x", "fp32"), ("randn4x", "fp32")):
                constants = {"N": N, "FN": getattr(functions, name), "OFFSETS": TYPES[offsets]}
                yield Case("random", f"{name}({seed}, {offsets})", carriers.random_four,
                           [out(result, N)] * 4, constants, scalars=(seed,),
                           **_normal(name))  # fmt: skip
    for kind in ("u32", "u64"):
        constants = {"N": N, "FN": functions.philox, "OFFSETS": TYPES[kind]}
        yield Case("random", f"philox({kind})", carriers.random_four, [out(kind, N)] * 4,
                   constants, scalars=(2**40 + 7,))  # fmt: skip


def _normal(name: str) -> dict[str, Any]:
    """sqrt(-2 log(u)) cos(2 pi v): near a zero of the cosine 2 pi v has few digits."""
    if not name.startswith("randn"):
        return {}

    def bound(arrays: list[Any]) -> Any:
        return np.full(N, 6.0 * 2.0**-21)

    return {"rule": "absolute", "bound": bound}


def _line(text: str, constraints: str, kinds: str, result: str, pack: int = 1, **more: Any) -> Case:
    left, *right = kinds.split()
    fills = (
        crossed(left, right[0], N) if right else [wide(left) if left == "fp32" else spread(left, N)]
    )
    second = right[0] if right else left
    buffers = [given(left, N, fills[0]), given(second, N, fills[-1]), out(result, N)]
    constants = {"N": N, "TEXT": text, "CONSTRAINTS": constraints, "PACK": pack, "TWO": bool(right)}  # fmt: skip
    return Case("assembly", f"{text} {kinds}", carriers.assembled, buffers, constants, **more)


def assembly() -> Iterator[Case]:
    """The one-liners that published kernels use."""
    one, two = "=f,f", "=f,f,f"
    yield _line("tanh.approx.f32 $0, $1;", one, "fp32", "fp32", rule="ulps", limit=8193)  # 2^-11
    for text, limit in (("ex2.approx.ftz.f32", 3), ("ex2.approx.f32", 3), ("rsqrt.approx.ftz.f32", 3),
                        ("rsqrt.approx.f32", 3), ("rcp.approx.ftz.f32", 2), ("rcp.approx.f32", 2),
                        ("sqrt.approx.f32", 2)):  # fmt: skip
        yield _line(f"{text} $0, $1;", one, "fp32", "fp32", rule="ulps", limit=limit)
    for text in ("lg2.approx.f32", "sin.approx.f32", "cos.approx.f32"):
        yield _line(f"{text} $0, $1;", one, "fp32", "fp32", rule="recorded")
    for text in ("mul.rn.f32", "add.rn.f32", "sub.rn.f32", "div.rn.f32", "min.f32", "max.f32",
                 "min.NaN.f32", "max.NaN.f32", "add.ftz.f32", "mul.ftz.f32"):  # fmt: skip
        rule = "recorded" if "ftz" in text else "bits"
        yield _line(f"{text} $0, $1, $2;", two, "fp32 fp32", "fp32", rule=rule)
    for text in ("sqrt.rn.f32", "neg.f32", "abs.f32", "cvt.rni.f32.f32", "cvt.rmi.f32.f32",
                 "cvt.rzi.f32.f32", "cvt.rpi.f32.f32"):  # fmt: skip
        yield _line(f"{text} $0, $1;", one, "fp32", "fp32")
    for kind in ("s32", "u32"):
        for mode in ("rni", "rzi", "rmi", "rpi"):
            yield _line(f"cvt.{mode}.{kind}.f32 $0, $1;", "=r,f", "fp32", "i32")
        yield _line(f"cvt.rn.f32.{kind} $0, $1;", "=f,r", "i32", "fp32")
    yield _line("cvt.rna.tf32.f32 $0, $1;", "=r,f", "fp32", "fp32")
    for text in ("mul.lo.s32", "mul.hi.s32", "mul.hi.u32", "add.s32", "sub.s32", "and.b32", "or.b32",
                 "xor.b32", "min.s32", "max.u32", "shl.b32", "shr.s32", "shr.u32"):  # fmt: skip
        yield _line(f"{text} $0, $1, $2;", "=r,r,r", "i32 i32", "i32")
    yield _line("mad.lo.s32 $0, $1, 3, $2;", "=r,r,r", "i32 i32", "i32")
    yield _line("lop3.b32 $0, $1, $2, $1, 0x6a;", "=r,r,r", "i32 i32", "i32")
    yield _line("prmt.b32 $0, $1, $2, 0x3521;", "=r,r,r", "i32 i32", "i32")
    yield _line("shf.l.wrap.b32 $0, $1, $2, 17;", "=r,r,r", "i32 i32", "i32")
    yield _line("shf.r.clamp.b32 $0, $1, $2, 9;", "=r,r,r", "i32 i32", "i32")
    for text in ("brev.b32", "popc.b32", "clz.b32", "not.b32", "neg.s32", "abs.s32", "mov.b32"):
        yield _line(f"{text} $0, $1;", "=r,r", "i32", "i32")
    yield _line("bfe.u32 $0, $1, 5, 7;", "=r,r", "i32", "i32")
    yield _line("bfe.s32 $0, $1, 5, 7;", "=r,r", "i32", "i32")
    yield _line("xor.b32 $0, $1, 0x0f0f0f0f;", "=r,r", "u8", "u8", pack=4)
    yield _line("and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;", "=r,r", "i8", "i8", pack=4)
    yield _line("add.f16x2 $0, $1, $2;", "=r,r,r", "fp16 fp16", "fp16", pack=2)
    yield _line("mul.f16x2 $0, $1, $2;", "=r,r,r", "fp16 fp16", "fp16", pack=2)
    yield _line("fma.rn.bf16x2 $0, $1, $2, $1;", "=r,r,r", "bf16 bf16", "bf16", pack=2)
    yield _line("max.bf16x2 $0, $1, $2;", "=r,r,r", "bf16 bf16", "bf16", pack=2)
    yield _line("cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", "fp32", "bf16", pack=2)
    yield _line("cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", "fp32", "fp16", pack=2)
    yield _line("{ .reg .pred p; setp.gt.f32 p, $2, 0f3F000000; selp.f32 $0, $1, $2, p; }", two,
                "fp32 fp32", "fp32")  # fmt: skip
    yield _line("{ .reg .pred p; mov.f32 $0, $1; setp.lt.f32 p, $2, 0f00000000; @p neg.f32 $0, $1; }",
                "=&f,f,f", "fp32 fp32", "fp32")  # fmt: skip
