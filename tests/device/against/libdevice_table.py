"""The functions of NVIDIA's libdevice by their operands and result: f float32, d float64, i int32,
u uint32, l int64, v uint64, b int1; and how far from the true value CUDA lets them be."""

from __future__ import annotations

_BOTH = """acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh cospi sinpi exp exp2 exp10
expm1 log log2 log10 log1p sqrt rsqrt cbrt rcbrt erf erfc erfcx erfinv erfcinv lgamma tgamma normcdf
normcdfinv j0 y0 cyl_bessel_i0 j1 y1 cyl_bessel_i1 rcp_rn sqrt_rn rcp_rz sqrt_rz rcp_rd sqrt_rd
rcp_ru sqrt_ru abs ceil floor trunc rint nearbyint round logb"""
_TWO = """add_rn sub_rn mul_rn div_rn add_rz sub_rz mul_rz div_rz add_rd sub_rd mul_rd div_rd add_ru
sub_ru mul_ru div_ru copysign fdim fmod remainder nextafter atan2 pow hypot rhypot"""
_THREE = "fma_rn fma_rz fma_rd fma_ru fma norm3d rnorm3d"
_MODES = ("rn", "rz", "rd", "ru")


def _modes(name: str) -> str:
    return " ".join(f"{name}_{mode}" for mode in _MODES)


SIGNATURES: dict[str, str] = {
    "f:f": f"{_BOTH} rsqrt_rn saturatef fast_cosf fast_sinf fast_tanf fast_tanhf fast_expf "
    "fast_exp10f fast_logf fast_log2f fast_log10f",
    "d:d": f"{_BOTH} rcp64h",
    "ff:f": f"{_TWO} fast_dividef fast_powf",
    "dd:d": _TWO,
    "fff:f": _THREE,
    "ddd:d": _THREE,
    "ffff:f": "norm4d rnorm4d",
    "dddd:d": "norm4d rnorm4d",
    "f:i": f"{_modes('float2int')} {_modes('float2uint')} float_as_int float_as_uint ilogb signbit",
    "f:l": f"{_modes('float2ll')} {_modes('float2ull')} llrint llround",
    "d:i": f"{_modes('double2int')} {_modes('double2uint')} double2hiint double2loint ilogb signbit",
    "d:l": f"{_modes('double2ll')} {_modes('double2ull')} double_as_longlong llrint llround",
    "i:f": f"{_modes('int2float')} int_as_float",
    "i:d": "int2double_rn",
    "u:f": f"{_modes('uint2float')} uint_as_float",
    "u:d": "uint2double_rn",
    "l:f": _modes("ll2float"),
    "l:d": f"{_modes('ll2double')} longlong_as_double",
    "v:f": _modes("ull2float"),
    "v:d": _modes("ull2double"),
    "d:f": _modes("double2float"),
    "ii:d": "hiloint2double",
    "i:i": "abs brev clz ffs popc",
    "l:l": "abs brev",
    "l:i": "clz ffs popc",
    "iii:i": "byte_perm",
    "ii:i": "hadd rhadd mul24 mulhi",
    "uu:u": "hadd rhadd mul24 mulhi",
    "ll:l": "mulhi",
    "vv:v": "mulhi",
    "iiu:i": "sad",
    "uuu:u": "sad",
    "fi:f": "ldexp scalbn pow",
    "di:d": "ldexp scalbn pow",
    "f:b": "isnan isinf finitef",
    "d:b": "isnan isinf isfinited",
    "if:f": "jn yn",
    "id:d": "jn yn",
}

KINDS = {"f": "fp32", "d": "fp64", "i": "i32", "u": "u32", "l": "i64", "v": "u64", "b": "i1"}

# How many units in the last place CUDA C++ Programming Guide 13.0 allows (mathematical functions
# appendix), float32 and float64. Functions that are in neither table are exact. NONE: the guide gives
# no bound over the whole range, or an absolute one. tgamma of float32 is 5 there, and 7.3 on an H200
# at -21.995739.
NONE = float("inf")
ULPS: dict[str, tuple[float, float]] = {
    "acos": (2, 2), "acosh": (4, 3), "asin": (2, 2), "asinh": (3, 3), "atan": (2, 2),
    "atanh": (3, 2), "atan2": (3, 2), "cos": (2, 2), "cosh": (2, 1), "sin": (2, 2),
    "sinh": (3, 2), "tan": (4, 2), "tanh": (2, 1), "cospi": (1, 2), "sinpi": (1, 2),
    "exp": (2, 1), "exp2": (2, 1), "exp10": (2, 1), "expm1": (1, 1), "log": (1, 1),
    "log2": (1, 1), "log10": (2, 1), "log1p": (1, 1), "sqrt": (3, 0), "rsqrt": (2, 1),
    "cbrt": (1, 1), "rcbrt": (1, 1), "erf": (2, 2), "erfc": (4, 5), "erfcx": (4, 4),
    "erfinv": (2, 5), "erfcinv": (4, 6), "lgamma": (NONE, NONE), "tgamma": (8, 10),
    "normcdf": (5, 5), "normcdfinv": (5, 8), "j0": (NONE, NONE), "j1": (NONE, NONE),
    "jn": (NONE, NONE), "y0": (NONE, NONE), "y1": (NONE, NONE), "yn": (NONE, NONE),
    "cyl_bessel_i0": (6, 6), "cyl_bessel_i1": (6, 6), "pow": (4, 2), "hypot": (3, 2),
    "rhypot": (2, 1), "norm3d": (3, 2), "rnorm3d": (2, 1), "norm4d": (3, 2), "rnorm4d": (2, 1),
    "fast_dividef": (2, 0), "fast_cosf": (NONE, 0), "fast_sinf": (NONE, 0),
    "fast_tanf": (NONE, 0), "fast_tanhf": (NONE, 0), "fast_expf": (NONE, 0),
    "fast_exp10f": (NONE, 0), "fast_logf": (NONE, 0), "fast_log2f": (NONE, 0),
    "fast_log10f": (NONE, 0), "fast_powf": (NONE, 0),
}  # fmt: skip
