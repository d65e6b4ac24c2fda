"""How far approximations may be from the true value, as NVIDIA documents them. Data only.

`Error(ulps, relative, absolute)`: the result differs from the true value by at most their sum.
Sources: PTX ISA 8.7, `ex2`, `lg2`, `sin`, `cos`, `tanh`, `rcp`, `rsqrt`, `sqrt`, `div`; CUDA C++
Programming Guide 13.0, "Mathematical Functions" (standard functions: float32 and float64;
intrinsic functions: `fast_…`). `tgamma` of float32 is 5 units there; 7.3 were measured on an H200.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Error:
    """Units in the last place of the result, a part of it, and an amount."""

    ulps: float = 0.0
    relative: float = 0.0
    absolute: float = 0.0


EXACT = Error()

# PTX instructions on float32
EX2_APPROX = Error(ulps=2)
SQRT_APPROX = Error(relative=2.0**-23)
RSQRT_APPROX = Error(relative=2.0**-22.9)
RCP_APPROX = Error(ulps=1)
DIV_FULL = Error(ulps=2)
TANH_APPROX = Error(relative=2.0**-10.987)

# tl functions of float32 that become such an instruction in the fast mode
INSTRUCTIONS: dict[str, Error] = {
    "exp": EX2_APPROX, "exp2": EX2_APPROX, "sqrt": SQRT_APPROX, "rsqrt": RSQRT_APPROX,
    "fdiv": DIV_FULL,
}  # fmt: skip

# libdevice: units in the last place for float32 and float64
LIBRARY: dict[str, tuple[float, float]] = {
    "acos": (2, 2), "acosh": (4, 3), "asin": (2, 2), "asinh": (3, 3), "atan": (2, 2),
    "atanh": (3, 2), "atan2": (3, 2), "cos": (2, 2), "cosh": (2, 1), "sin": (2, 2),
    "sinh": (3, 2), "tan": (4, 2), "tanh": (2, 1), "cospi": (1, 2), "sinpi": (1, 2),
    "exp": (2, 1), "exp2": (2, 1), "exp10": (2, 1), "expm1": (1, 1), "log": (1, 1),
    "log2": (1, 1), "log10": (2, 1), "log1p": (1, 1), "sqrt": (3, 0), "rsqrt": (2, 1),
    "cbrt": (1, 1), "rcbrt": (1, 1), "erf": (2, 2), "erfc": (4, 5), "erfcx": (4, 4),
    "erfinv": (2, 5), "erfcinv": (4, 6), "tgamma": (8, 10), "normcdf": (5, 5),
    "normcdfinv": (5, 8), "cyl_bessel_i0": (6, 6), "cyl_bessel_i1": (6, 6), "pow": (4, 2),
    "hypot": (3, 2), "rhypot": (2, 1), "norm3d": (3, 2), "rnorm3d": (2, 1), "norm4d": (3, 2),
    "rnorm4d": (2, 1), "fast_dividef": (2, 0),
}  # fmt: skip

# Functions for which no bound over the whole range is documented
UNBOUNDED = frozenset(
    {"lgamma", "j0", "j1", "jn", "y0", "y1", "yn", "fast_sinf", "fast_cosf", "fast_tanf",
     "fast_powf", "rcp64h"}
)  # fmt: skip

# Intrinsic functions: inside of a range of the operand, and elsewhere (None: not documented)
FAST: dict[str, tuple[float, float, Error, Error | None]] = {
    "fast_sinf": (-3.14159265, 3.14159265, Error(absolute=2.0**-21.41), None),
    "fast_cosf": (-3.14159265, 3.14159265, Error(absolute=2.0**-21.19), None),
    "fast_logf": (0.5, 2.0, Error(absolute=2.0**-21.41), Error(ulps=3)),
    "fast_log2f": (0.5, 2.0, Error(absolute=2.0**-22), Error(ulps=2)),
    "fast_log10f": (0.5, 2.0, Error(absolute=2.0**-24), Error(ulps=3)),
    "fast_tanhf": (-1e39, 1e39, TANH_APPROX, TANH_APPROX),
}
# Units that grow with the operand: 2 + floor(rate * |x|)
GROWING: dict[str, float] = {"fast_expf": 1.173, "fast_exp10f": 2.97}

SCALES = frozenset({"ldexp", "scalbn", "nextafter"})

# Matrix units: bits of the sums' alignment to the greatest term, by the size of the operands
ALIGNMENT = {1: 14, 2: 25, 4: 25}
FEWEST_PRODUCTS = {1: 16, 2: 8, 4: 4}  # that an instruction adds at once

# What the schemes that split float32 operands leave out, as a part of sum |a| |b|
SPLITTING = {"tf32x3": 2.0**-18, "bf16x3": 2.0**-14, "bf16x6": 2.0**-22}
