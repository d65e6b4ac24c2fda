"""What an H200 gave for functions that are not exact to the last bit: each lies within the bound.

Each line is a function, its signature, the operands' bits and the result's, as Triton 3.6 computed
them. `fdiv` is the language's quotient, the others are libdevice's.
"""

from __future__ import annotations

import numpy as np
import pytest

from blockstep.interp.bound import bound
from blockstep.interp.bounds.ranges import Ranged, widened
from blockstep.interp.bounds.rules import Freedom, apply
from blockstep.language import types as ty
from blockstep.language.op import OPS

assert bound.__doc__  # importing it registers the rules
KINDS = {"f": ty.float32, "d": ty.float64, "i": ty.int32}
MEASURED = """
fdiv ff:f 3fc00000 43e00000 3b5b6db8
fdiv ff:f 3fc00000 c3e00000 bb5b6db8
erf f:f 40400000 3f7ffe8d
erf f:f c0400000 bf7ffe8d
acos f:f b465f11f 3fc90fdd
acos f:f 3ebdde96 3f986ee6
acosh f:f 3fc00000 3f766165
acosh f:f 40672d8a 3ffa966d
asin f:f bf12ff2d bf1c9410
asin f:f bf152939 bf1f3b46
asinh f:f 3f800000 3f61a1b3
asinh f:f 7f7fffff 42b2d4fb
atan f:f 3fc00000 3f7b985f
atan f:f 40400000 3f9fe0bc
cospi f:f c8186bdd be164083
cospi f:f 40afb2b7 bcf2c34f
sinpi f:f 00800000 01490fda
sinpi f:f 80800000 81490fda
cbrt f:f 7bcf0454 53963f7a
cbrt f:f 41bc573a 40376d78
erf f:f 40400000 3f7ffe8d
erf f:f c0400000 bf7ffe8d
erfcinv f:f 03ca2716 410f109e
erfcinv f:f 227ec1ca 40c4c1ce
tgamma f:f 3f000000 3fe2dfc5
normcdfinv f:f 00800000 c14f3300
normcdfinv f:f 1e2888b7 c1146462
asinh d:d 407c000000000000 401b31179e3f01a8
asinh d:d c07c000000000000 c01b31179e3f01a8
fdim ff:f 00000000 80000001 00000001
fdim ff:f 00000000 807fffff 007fffff
atan2 ff:f 3f800000 3f000000 3f8db70d
atan2 ff:f 3f800000 3fc00000 3f168757
pow ff:f 40c0f4f2 c212d7af 0fe54e13
pow ff:f 41bc8959 41e06eed 7f6d4aa3
atan2 dd:d 403bd349f3bfb0b6 c02d8c006f368940 400078985542cdc0
atan2 dd:d c0487785136cdcee c037a0c7e4fcc53d c0002a437864c5f8
ldexp fi:f 00800000 ffffffee 00000020
ldexp fi:f 00000001 ffffffdb 00000002
scalbn fi:f 00000001 ffffffe8 00000002
scalbn fi:f 007fffff ffffffe8 00fffffe
""".strip().splitlines()


def _number(bits: str, kind: ty.dtype) -> Ranged:
    return Ranged(np.array([int(bits, 16)], f"u{kind.itemsize}").view(kind.numpy), kind)


@pytest.mark.parametrize("line", MEASURED)
def test_what_hardware_gave_is_within_the_bound(line: str) -> None:
    name, signature, *bits = line.split()
    kinds = [KINDS[letter] for letter in signature.replace(":", "")]
    *operands, found = [_number(b, k) for b, k in zip(bits, kinds, strict=True)]
    op, told = (OPS[name], {}) if name == "fdiv" else (OPS["libdevice"], {"function": name})
    (made,) = apply(op, told, [kinds[-1]], operands, Freedom())
    assert made.flags is None
    number = widened(found.value, found.kind)
    assert (made.lows <= number).all() and (number <= made.highs).all()
