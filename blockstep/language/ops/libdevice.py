"""The functions of libdevice: the types each takes, and what it computes.

Invariant: `LIBDEVICE[name]` lists every overload that the language accepts (operands must match
one exactly: there is no promotion) and one meaning for all of them. Functions whose hardware
version is approximate (`fast_*`, `rsqrt`, the transcendental ones) mean the true value rounded to
the type; their documented errors belong to the error bound. Subnormal float32 values are kept,
which a compiler may flush to zero. `erfcx`, Bessel and gamma functions
are computed as `numerics.special` and `numerics.bessel` say.

Signatures are written with a letter for each type, operands before the colon:
f float32, d float64, i int32, u uint32, l int64, v uint64, b int1.
Source: CUDA libdevice user's guide; CUDA math API reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.numerics import (
    bessel,
    directed,
    elementary,
    format_of,
    in_double,
    integers,
    rounding,
    special,
)
from blockstep.language.op import Family, define

Meaning = Callable[..., Any]

_LETTER = {
    "f": "float32", "d": "float64", "i": "int32", "u": "uint32",
    "l": "int64", "v": "uint64", "b": "int1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Overload:
    """Names of the operand types and of the result type."""

    operands: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class Function:
    """One libdevice function; `meaning` maps NumPy arrays of an overload's types to the result."""

    name: str
    overloads: tuple[Overload, ...]
    meaning: Meaning
    doc: str

    def overload(self, operands: tuple[str, ...]) -> Overload | None:
        """The overload for exactly these operand types."""
        return next((o for o in self.overloads if o.operands == operands), None)

    def compute(self, *operands: Any) -> Any:
        """The result for arrays (or NumPy scalars) whose dtypes are those of an overload."""
        arrays = [np.asarray(x) for x in operands]
        chosen = self.overload(tuple(x.dtype.name for x in arrays))
        if chosen is None:
            raise TypeError(f"{self.name} takes {self.accepted()}")
        with np.errstate(all="ignore"):
            value = np.asarray(self.meaning(*arrays))
        return value.astype(format_of(chosen.result).storage)[()]

    def accepted(self) -> str:
        """The operand types that it takes, for messages."""
        return " or ".join(f"({', '.join(o.operands)})" for o in self.overloads)


LIBDEVICE: dict[str, Function] = {}


def _add(name: str, signatures: str, meaning: Meaning, doc: str) -> None:
    overloads = []
    for signature in signatures.split():
        operands, result = signature.split(":")
        overloads.append(Overload(tuple(_LETTER[c] for c in operands), _LETTER[result]))
    LIBDEVICE[name] = Function(name, tuple(overloads), meaning, doc)


_WORDS = {"rn": "to nearest even", "rz": "toward zero", "rd": "down", "ru": "up"}


def _arithmetic() -> None:
    binary = {"add": (rounding.add, "x + y"), "sub": (rounding.sub, "x - y"),
              "mul": (rounding.mul, "x * y"), "div": (rounding.div, "x / y")}  # fmt: skip
    for mode, words in _WORDS.items():
        for name, (meaning, doc) in binary.items():
            rounded = partial(meaning, mode=mode)
            _add(f"{name}_{mode}", "ff:f dd:d", rounded, f"{doc} rounded {words}")
        fused = partial(rounding.fma, mode=mode)
        _add(f"fma_{mode}", "fff:f ddd:d", fused, f"x * y + z rounded once, {words}")
        reciprocal = partial(rounding.rcp, mode=mode)
        _add(f"rcp_{mode}", "f:f d:d", reciprocal, f"1 / x rounded {words}")
        root = partial(rounding.sqrt, mode=mode)
        _add(f"sqrt_{mode}", "f:f d:d", root, f"square root rounded {words}")
    _add("rsqrt_rn", "f:f", in_double(elementary.rsqrt), "1 / sqrt(x) rounded to nearest even")
    _add("fma", "fff:f ddd:d", rounding.fma, "x * y + z rounded once, to nearest even")


def _as_signed(meaning: Meaning) -> Meaning:
    """Unsigned results are declared as signed integers of the same bits."""

    def signed(x: Any) -> Any:
        value = np.asarray(meaning(x))
        return value.view(f"i{value.dtype.itemsize}")

    return signed


def _conversions() -> None:
    targets = {"int": ("int32", "i"), "uint": ("uint32", "i"), "ll": ("int64", "l"),
               "ull": ("uint64", "l")}  # fmt: skip
    for mode, words in _WORDS.items():
        for source, letter in (("float", "f"), ("double", "d")):
            for short, (target, result) in targets.items():
                meaning = partial(directed.float_to_integer, target=target, mode=mode)
                doc = f"{target} bits of x rounded {words}, saturating"
                _add(f"{source}2{short}_{mode}", f"{letter}:{result}", _as_signed(meaning), doc)
        for short, letter in (("int", "i"), ("uint", "u"), ("ll", "l"), ("ull", "v")):
            for target, result in (("float", "f"), ("double", "d")):
                if letter in "iu" and result == "d" and mode != "rn":
                    continue  # exact: only the one name exists
                kind = _LETTER[result]
                meaning = partial(directed.integer_to_float, target=kind, mode=mode)
                _add(f"{short}2{target}_{mode}", f"{letter}:{result}", meaning,
                     f"{kind} of x rounded {words}")  # fmt: skip
        _add(f"double2float_{mode}", "d:f", partial(directed.double_to_single, mode=mode),
             f"float32 of x rounded {words}")  # fmt: skip


def _viewed(storage: str) -> Meaning:
    return lambda x: np.asarray(x).view(storage)


def _join_words(high: Any, low: Any) -> Any:
    low_bits = np.asarray(low).view(np.uint32).astype(np.int64)
    return (np.asarray(high).astype(np.int64) << np.int64(32) | low_bits).view(np.float64)


def _high_word(x: Any) -> Any:
    return (np.asarray(x).view(np.int64) >> np.int64(32)).astype(np.int32)


def _low_word(x: Any) -> Any:
    return np.asarray(x).view(np.int64).astype(np.int32)


def _bit_casts() -> None:
    same_bits = "the same bits as"
    for name, signature, storage in (
        ("float_as_int", "f:i", "i4"), ("float_as_uint", "f:i", "i4"),
        ("int_as_float", "i:f", "f4"), ("uint_as_float", "u:f", "f4"),
        ("double_as_longlong", "d:l", "i8"), ("longlong_as_double", "l:d", "f8"),
    ):  # fmt: skip
        _add(name, signature, _viewed(storage), f"{same_bits} {_LETTER[signature[-1]]}")
    _add("hiloint2double", "ii:d", _join_words, "float64 with these high and low 32 bits")
    _add("double2hiint", "d:i", _high_word, "the high 32 bits of a float64")
    _add("double2loint", "d:i", _low_word, "the low 32 bits of a float64")


def _integer_functions() -> None:
    _add("abs", "i:i l:l f:f d:d", np.abs, "absolute value; the lowest integer stays")
    _add("brev", "i:i l:l", integers.brev, "the bits in reverse order")
    _add("byte_perm", "iii:i", integers.byte_perm, "four bytes of two words, chosen by nibbles")
    _add("clz", "i:i l:i", integers.clz, "number of leading zero bits")
    _add("ffs", "i:i l:i", integers.ffs, "position of the lowest set bit from 1; 0 if none")
    _add("popc", "i:i l:i", integers.popc, "number of set bits")
    _add("hadd", "ii:i uu:u", integers.hadd, "average rounded down")
    _add("rhadd", "ii:i uu:u", integers.rhadd, "average rounded up")
    _add("mul24", "ii:i uu:u", integers.mul24, "low 32 bits of the product of the low 24 bits")
    _add("mulhi", "ii:i uu:u ll:l vv:v", integers.mulhi, "high half of the product")
    _add("sad", "iiu:i uuu:u", integers.sad, "|x - y| + z")


def _half_even(x: Any) -> Any:
    return directed.float_to_integer(x, "int64", "rn")


def _half_away(x: Any) -> Any:
    return directed.float_to_integer(elementary.round_away(x), "int64", "rz")


def _scaled(x: Any, exponent: Any) -> Any:
    held = np.clip(exponent, -5000, 5000)  # beyond, the result is 0 or infinite anyway
    return np.ldexp(x, held)


def _signbit(x: Any) -> Any:
    return np.signbit(x).astype(np.int32)


def _classification() -> None:
    one, two = "f:f d:d", "ff:f dd:d"
    _add("ceil", one, np.ceil, "least integer not below x")
    _add("floor", one, np.floor, "greatest integer not above x")
    _add("trunc", one, np.trunc, "integer part of x")
    _add("rint", one, np.rint, "nearest integer, even in a tie")
    _add("nearbyint", one, np.rint, "nearest integer, even in a tie")
    _add("round", one, elementary.round_away, "nearest integer, away from zero in a tie")
    _add("llrint", "f:l d:l", _half_even, "nearest int64, even in a tie")
    _add("llround", "f:l d:l", _half_away, "nearest int64, away from zero in a tie")
    _add("copysign", two, np.copysign, "x with the sign of y")
    _add("fdim", two, elementary.fdim, "x - y if positive, else 0")
    _add("fmod", two, np.fmod, "remainder of the truncated division, exact")
    _add("remainder", two, elementary.remainder, "remainder of the nearest division, exact")
    _add("nextafter", two, np.nextafter, "the next value after x toward y")
    _add("ldexp", "fi:f di:d", _scaled, "x * 2**y")
    _add("scalbn", "fi:f di:d", _scaled, "x * 2**y")
    _add("ilogb", "f:i d:i", elementary.ilogb, "exponent of x")
    _add("logb", one, elementary.logb, "exponent of x as a float")
    _add("saturatef", "f:f", elementary.saturate, "x held within [0, 1]; NaN becomes 0")
    _add("signbit", "f:i d:i", _signbit, "1 if the sign bit is set")
    _add("isnan", "f:b d:b", np.isnan, "whether x is NaN")
    _add("isinf", "f:b d:b", np.isinf, "whether x is infinite")
    _add("finitef", "f:b", np.isfinite, "whether x is neither infinite nor NaN")
    _add("isfinited", "d:b", np.isfinite, "whether x is neither infinite nor NaN")


def _transcendental() -> None:
    named: dict[str, tuple[Meaning, str]] = {
        "acos": (np.arccos, "arc cosine"), "acosh": (np.arccosh, "inverse hyperbolic cosine"),
        "asin": (np.arcsin, "arc sine"), "asinh": (np.arcsinh, "inverse hyperbolic sine"),
        "atan": (np.arctan, "arc tangent"), "atanh": (np.arctanh, "inverse hyperbolic tangent"),
        "cos": (np.cos, "cosine"), "cosh": (np.cosh, "hyperbolic cosine"),
        "sin": (np.sin, "sine"), "sinh": (np.sinh, "hyperbolic sine"),
        "tan": (np.tan, "tangent"), "tanh": (np.tanh, "hyperbolic tangent"),
        "cospi": (elementary.cospi, "cosine of pi x"), "sinpi": (elementary.sinpi, "sine of pi x"),
        "exp": (np.exp, "e to the x"), "exp2": (np.exp2, "2 to the x"),
        "exp10": (elementary.exp10, "10 to the x"), "expm1": (np.expm1, "exp(x) - 1"),
        "log": (np.log, "natural logarithm"), "log2": (np.log2, "base-2 logarithm"),
        "log10": (np.log10, "base-10 logarithm"), "log1p": (np.log1p, "log(1 + x)"),
        "sqrt": (np.sqrt, "square root"), "rsqrt": (elementary.rsqrt, "1 / sqrt(x)"),
        "cbrt": (np.cbrt, "cube root"), "rcbrt": (elementary.rcbrt, "1 / cbrt(x)"),
    }  # fmt: skip
    for name, (meaning, doc) in named.items():
        _add(name, "f:f d:d", in_double(meaning), doc)
    _add("atan2", "ff:f dd:d", in_double(np.arctan2), "angle of the point (y, x)")
    _add("pow", "fi:f di:d ff:f dd:d", _power, "x to the y")
    for name, count in (("hypot", 2), ("norm3d", 3), ("norm4d", 4)):
        signature = f"{'f' * count}:f {'d' * count}:d"
        inverse = {"hypot": "rhypot"}.get(name, f"r{name}")
        _add(name, signature, in_double(elementary.norm), f"length of a vector of {count} parts")
        _add(inverse, signature, in_double(elementary.rnorm), "1 / length of a vector")
    _add("rcp64h", "d:d", elementary.high_word_reciprocal, "1 / x, low 32 bits clear")


def _power(x: Any, y: Any) -> Any:
    base, exponent = np.asarray(x), np.asarray(y)
    if exponent.dtype.kind == "i":
        return elementary.whole_power(base, exponent)
    value = np.power(base.astype(np.float64), exponent.astype(np.float64))
    return value.astype(base.dtype)


def _fast() -> None:
    named: dict[str, Meaning] = {
        "cosf": np.cos, "sinf": np.sin, "tanf": np.tan, "tanhf": np.tanh, "expf": np.exp,
        "exp10f": elementary.exp10, "logf": np.log, "log2f": np.log2, "log10f": np.log10,
    }  # fmt: skip
    for name, meaning in named.items():
        doc = f"`{name[:-1]}` by the hardware's approximate instructions"
        _add(f"fast_{name}", "f:f", in_double(meaning), doc)
    _add("fast_dividef", "ff:f", elementary.fast_divide, "x / y; 0 where |y| exceeds 2**126")
    _add("fast_powf", "ff:f", elementary.fast_power, "exp2(y * log2(x)); NaN for negative x")


def _special() -> None:
    one = "f:f d:d"
    _add("erf", one, in_double(special.erf, special.erf_short), "error function")
    _add("erfc", one, in_double(special.erfc), "1 - erf(x)")
    _add("erfcx", one, in_double(special.erfcx), "exp(x * x) * erfc(x)")
    _add("erfinv", one, in_double(special.erfinv), "inverse error function")
    _add("erfcinv", one, in_double(special.erfcinv), "inverse of erfc")
    _add("lgamma", one, in_double(special.lgamma), "log of |gamma(x)|")
    _add("tgamma", one, in_double(special.tgamma), "gamma function")
    _add("normcdf", one, in_double(special.normcdf), "normal distribution function")
    _add("normcdfinv", one, in_double(special.normcdfinv), "inverse of normcdf")
    for order in (0, 1):
        first, second = (bessel.j0, bessel.y0) if order == 0 else (bessel.j1, bessel.y1)
        modified = bessel.i0 if order == 0 else bessel.i1
        _add(f"j{order}", one, in_double(first), f"Bessel function J of order {order}")
        _add(f"y{order}", one, in_double(second), f"Bessel function Y of order {order}")
        _add(f"cyl_bessel_i{order}", one, in_double(modified), f"modified Bessel I, order {order}")
    _add("jn", "if:f id:d", in_double(bessel.jn), "Bessel function J of order n")
    _add("yn", "if:f id:d", in_double(bessel.yn), "Bessel function Y of order n")


for _family in (_arithmetic, _conversions, _bit_casts, _integer_functions, _classification,
                _transcendental, _fast, _special):  # fmt: skip
    _family()


def _result_type(*operands: ty.dtype, function: str) -> ty.dtype:
    called = LIBDEVICE[function]
    chosen = called.overload(tuple(x.scalar.codegen_name() for x in operands))
    if chosen is None:
        given = ", ".join(str(x.scalar) for x in operands)
        raise TypeError(f"libdevice.{function} takes {called.accepted()}, not ({given})")
    shape = next((x.shape for x in operands if len(x.shape)), ())
    return ty.blocked(getattr(ty, chosen.result), shape)


def _call(*operands: Any, function: str) -> Any:
    return LIBDEVICE[function].compute(*operands)


CALL = define(
    "libdevice",
    Family.ELEMENTWISE,
    _result_type,
    _call,
    "`n, ... -> n`: the libdevice function named by the attribute `function`, element by element.",
)
