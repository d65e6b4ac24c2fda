"""Which types Triton 3.6.0 gives, measured by compiling for sm_90: data for test_promotion.

A row is the left operand (or the function), a column the right one; `-` is a compile error.
"""

from __future__ import annotations

Table = dict[str, dict[str, str]]


def _table(text: str) -> Table:
    head, *rows = [line.split() for line in text.strip().splitlines()]
    return {row[0]: dict(zip(head, row[1:], strict=True)) for row in rows}


# `+ - *` and `where` of two blocks.
ARITHMETIC = _table("""
          i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
i1        i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
i8        i8   i8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
i16      i16  i16  i16  i32  i64  i16  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
i32      i32  i32  i32  i32  i64  i32  i32  u32  u64 fp16 fp32 fp32 fp64       -     -
i64      i64  i64  i64  i64  i64  i64  i64  i64  u64 fp16 fp32 fp32 fp64       -     -
u8        u8   u8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
u16      u16  u16  u16  i32  i64  u16  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
u32      u32  u32  u32  u32  i64  u32  u32  u32  u64 fp16 fp32 fp32 fp64       -     -
u64      u64  u64  u64  u64  u64  u64  u64  u64  u64 fp16 fp32 fp32 fp64       -     -
fp16    fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp32 fp64    fp16  fp16
bf16    fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp16 bf16 fp32 fp64    fp32  fp32
fp32    fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
fp64    fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64    fp64  fp64
fp8e4nv    -    -    -    -    -    -    -    -    - fp16 fp32 fp32 fp64 fp8e4nv  fp16
fp8e5      -    -    -    -    -    -    -    -    - fp16 fp32 fp32 fp64    fp16 fp8e5
""")

# `& | ^ << >>` of two blocks.
BITS = _table("""
         i1  i8 i16 i32 i64  u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
i1       i1  i8 i16 i32 i64  u8 u16 u32 u64    -    -    -    -       -     -
i8       i8  i8 i16 i32 i64  u8 u16 u32 u64    -    -    -    -       -     -
i16     i16 i16 i16 i32 i64 i16 u16 u32 u64    -    -    -    -       -     -
i32     i32 i32 i32 i32 i64 i32 i32 u32 u64    -    -    -    -       -     -
i64     i64 i64 i64 i64 i64 i64 i64 i64 u64    -    -    -    -       -     -
u8       u8  u8 i16 i32 i64  u8 u16 u32 u64    -    -    -    -       -     -
u16     u16 u16 u16 i32 i64 u16 u16 u32 u64    -    -    -    -       -     -
u32     u32 u32 u32 u32 i64 u32 u32 u32 u64    -    -    -    -       -     -
u64     u64 u64 u64 u64 u64 u64 u64 u64 u64    -    -    -    -       -     -
fp16      -   -   -   -   -   -   -   -   -    -    -    -    -       -     -
bf16      -   -   -   -   -   -   -   -   -    -    -    -    -       -     -
fp32      -   -   -   -   -   -   -   -   -    -    -    -    -       -     -
fp64      -   -   -   -   -   -   -   -   -    -    -    -    -       -     -
fp8e4nv   -   -   -   -   -   -   -   -   -    -    -    -    -       -     -
fp8e5     -   -   -   -   -   -   -   -   -    -    -    -    -       -     -
""")

# `/` of two blocks.
DIVISION = _table("""
          i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
i1      fp32    -    -    -    - fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64       -     -
i8         - fp32 fp32 fp32 fp32    -    -    -    - fp32 fp32 fp32 fp64       -     -
i16        - fp32 fp32 fp32 fp32    -    -    -    - fp32 fp32 fp32 fp64       -     -
i32        - fp32 fp32 fp32 fp32    -    -    -    - fp32 fp32 fp32 fp64       -     -
i64        - fp32 fp32 fp32 fp32    -    -    -    - fp32 fp32 fp32 fp64       -     -
u8      fp32    -    -    -    - fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64       -     -
u16     fp32    -    -    -    - fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64       -     -
u32     fp32    -    -    -    - fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64       -     -
u64     fp32    -    -    -    - fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64       -     -
fp16    fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
bf16    fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
fp32    fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
fp64    fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64    fp64  fp64
fp8e4nv    -    -    -    -    -    -    -    -    - fp32 fp32 fp32 fp64 fp8e4nv  fp16
fp8e5      -    -    -    -    -    -    -    -    - fp32 fp32 fp32 fp64    fp16 fp8e5
""")

# `tl.maximum` and `tl.minimum` of two blocks.
EXTREMA = _table("""
          i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
i1        i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
i8        i8   i8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
i16      i16  i16  i16  i32  i64  i16  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
i32      i32  i32  i32  i32  i64  i32  i32  u32  u64 fp16 fp32 fp32 fp64       -     -
i64      i64  i64  i64  i64  i64  i64  i64  i64  u64 fp16 fp32 fp32 fp64       -     -
u8        u8   u8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
u16      u16  u16  u16  i32  i64  u16  u16  u32  u64 fp16 fp32 fp32 fp64       -     -
u32      u32  u32  u32  u32  i64  u32  u32  u32  u64 fp16 fp32 fp32 fp64       -     -
u64      u64  u64  u64  u64  u64  u64  u64  u64  u64 fp16 fp32 fp32 fp64       -     -
fp16    fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp16 fp32 fp32 fp64    fp16  fp16
bf16    fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
fp32    fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
fp64    fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64 fp64    fp64  fp64
fp8e4nv    -    -    -    -    -    -    -    -    - fp16 fp32 fp32 fp64 fp8e4nv  fp16
fp8e5      -    -    -    -    -    -    -    -    - fp16 fp32 fp32 fp64    fp16 fp8e5
""")

# `+ - *` and `where` of a block and a Python number.
LITERAL_ARITHMETIC = _table("""
        True    2   -1  300 2147483648 1099511627776  0.5 1e+300
i1        i1  i32  i32  i32        u32           i64 fp32   fp64
i8        i8   i8   i8    -          -             - fp32   fp64
i16      i16  i16  i16  i16          -             - fp32   fp64
i32      i32  i32  i32  i32          -             - fp32   fp64
i64      i64  i64  i64  i64        i64           i64 fp32   fp64
u8        u8   u8    -    -          -             - fp32   fp64
u16      u16  u16    -  u16          -             - fp32   fp64
u32      u32  u32    -  u32        u32             - fp32   fp64
u64      u64  u64    -  u64        u64           u64 fp32   fp64
fp16    fp16 fp16 fp16 fp16       fp16          fp16 fp16   fp16
bf16    bf16 bf16 bf16 bf16       bf16          bf16 bf16   bf16
fp32    fp32 fp32 fp32 fp32       fp32          fp32 fp32   fp32
fp64    fp64 fp64 fp64 fp64       fp64          fp64 fp64   fp64
fp8e4nv    -    -    -    -          -             -    -      -
fp8e5      -    -    -    -          -             -    -      -
""")

# `/` of a block and a Python number.
LITERAL_DIVISION = _table("""
        True    2   -1  300 2147483648 1099511627776  0.5 1e+300
i1      fp32    -    -    -       fp32             - fp32   fp64
i8      fp32 fp32 fp32    -          -             - fp32   fp64
i16     fp32 fp32 fp32 fp32          -             - fp32   fp64
i32     fp32 fp32 fp32 fp32          -             - fp32   fp64
i64     fp32 fp32 fp32 fp32       fp32          fp32 fp32   fp64
u8      fp32 fp32    -    -          -             - fp32   fp64
u16     fp32 fp32    - fp32          -             - fp32   fp64
u32     fp32 fp32    - fp32       fp32             - fp32   fp64
u64     fp32 fp32    - fp32       fp32          fp32 fp32   fp64
fp16    fp32 fp32 fp32 fp32       fp32          fp32 fp32   fp32
bf16    fp32 fp32 fp32 fp32       fp32          fp32 fp32   fp32
fp32    fp32 fp32 fp32 fp32       fp32          fp32 fp32   fp32
fp64    fp64 fp64 fp64 fp64       fp64          fp64 fp64   fp64
fp8e4nv    -    -    -    -          -             -    -      -
fp8e5      -    -    -    -          -             -    -      -
""")

# `tl.maximum` and `tl.minimum` of a block and a Python number.
LITERAL_EXTREMA = _table("""
        True    2   -1  300 2147483648 1099511627776  0.5 1e+300
i1        i1  i32  i32  i32        u32           i64 fp32   fp64
i8        i8  i32  i32  i32        u32           i64 fp32   fp64
i16      i16  i32  i32  i32        u32           i64 fp32   fp64
i32      i32  i32  i32  i32        u32           i64 fp32   fp64
i64      i64  i64  i64  i64        i64           i64 fp32   fp64
u8        u8  i32  i32  i32        u32           i64 fp32   fp64
u16      u16  i32  i32  i32        u32           i64 fp32   fp64
u32      u32  u32  u32  u32        u32           i64 fp32   fp64
u64      u64  u64  u64  u64        u64           u64 fp32   fp64
fp16    fp16 fp16 fp16 fp16       fp16          fp16 fp32   fp64
bf16    fp32 fp32 fp32 fp32       fp32          fp32 fp32   fp64
fp32    fp32 fp32 fp32 fp32       fp32          fp32 fp32   fp64
fp64    fp64 fp64 fp64 fp64       fp64          fp64 fp64   fp64
fp8e4nv    -    -    -    -          -             - fp32   fp64
fp8e5      -    -    -    -          -             - fp32   fp64
""")

# The functions of promotion_functions, by the element type of their argument.
UNARY = _table("""
                i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
sum            u32  i32  i32  i32  i64  u32  u32  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
sumall         u32  i32  i32  i32  i64  u32  u32  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
max            i32  i32  i32  i32  i64  i32  i32  u32  u64 fp32 fp32 fp32 fp64    fp32  fp32
min            i32  i32  i32  i32  i64  i32  i32  u32  u64 fp32 fp32 fp32 fp64    fp32  fp32
max_idx         i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64 fp8e4nv fp8e5
argmax         i32  i32  i32  i32  i32  i32  i32  i32  i32  i32  i32  i32  i32     i32   i32
xor_sum         i1   i8  i16  i32  i64   u8  u16  u32  u64    -    -    -    -       -     -
reduce_or       i1   i8  i16  i32  i64   u8  u16  u32  u64    -    -    -    -       -     -
cumsum         u32  i32  i32  i32  i64  u32  u32  u32  u64 fp16 fp32 fp32 fp64 fp8e4nv fp8e5
cumprod         i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 fp32 fp32 fp64 fp8e4nv fp8e5
sort            i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
topk           i32  i32  i32  i32  i64  i32  i32  u32  u64 fp32 fp32 fp32 fp64    fp32  fp32
flip            i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
abs             i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
neg             i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
inv             i1   i8  i16  i32  i64   u8  u16  u32  u64    -    -    -    -       -     -
not_            i1    -    -    -    -    -    -    -    -    -    -    -    -       -     -
exp              -    -    -    -    -    -    -    -    -    -    - fp32 fp64       -     -
softmax          -    -    -    -    -    -    -    -    - fp32 fp32 fp32 fp64    fp32  fp32
sigmoid          -    -    -    -    -    -    -    -    -    -    - fp32 fp64       -     -
sqrt             -    -    -    -    -    -    -    -    -    -    - fp32 fp64       -     -
dot              -  i32    -    -    -    -    -    -    - fp32 fp32 fp32 fp64    fp32  fp32
dot16            -  i32    -    -    -    -    -    -    - fp16 fp32 fp32 fp64    fp16  fp16
clamp         fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
lit           fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
litc          fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp16 bf16 fp32 fp64       -     -
callret       fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
callarg       fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp64    fp32  fp32
callint        i32  i32  i32  i32  i64  i32  i32  u32  u64 fp16 fp32 fp32 fp64       -     -
rangei           -    -    -  i32  i64    -    -  u32  u64 fp16    - fp32 fp64       -     -
srangei        i32   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64       -     -
pid            i32  i32  i32  i32  i64  i32  i32  u32  u64 fp16 fp32 fp32 fp64       -     -
arange         i32  i32  i32  i32  i64  i32  i32  u32  u64 fp16 fp32 fp32 fp64       -     -
full0           i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
cdiv           i32   i8  i16  i32  i64   u8  u16  u32  u64    -    -    -    -       -     -
hist           i32  i32  i32  i32  i32  i32  i32  i32  i32    -    -    -    -       -     -
ifexp           i1   i8  i16  i32  i64   u8  u16  u32  u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
rand          fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32 fp32    fp32  fp32
randint        u32  u32  u32  u32  u32  u32  u32  u32  u32  u32  u32  u32  u32     u32   u32
floordiv_pow2    -   i8  i16  i32  i64   u8  u16  u32  u64    -    -    -    -       -     -
pow              -    -    -    -    -    -    -    -    -    -    -    -    -       -     -
""")
