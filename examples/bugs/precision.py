"""Attention scores with an empty sequence in the batch: its rows are masked everywhere, so that their
maximum is -inf, and -inf - -inf is NaN.

    blockstep check --precision examples/bugs/precision.py
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scores(q_ptr, k_ptr, lengths_ptr, out_ptr, N: tl.constexpr, D: tl.constexpr):
    batch, rows, dims = tl.program_id(0), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + batch * N * D + rows[:, None] * D + dims[None, :])
    k = tl.load(k_ptr + batch * N * D + rows[:, None] * D + dims[None, :])
    length = tl.load(lengths_ptr + batch)
    s = tl.dot(q, tl.trans(k))
    s = tl.where(rows[None, :] < length, s, float("-inf"))
    top = tl.max(s, axis=1)
    p = tl.exp(s - top[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    tl.store(out_ptr + batch * N * N + rows[:, None] * N + rows[None, :], p)


q = np.random.default_rng(0).normal(size=(3, 16, 16)).astype(np.float32)
lengths = np.array([16, 9, 0], np.int32)  # the last sequence is empty
scores[(3,)](q, q, lengths, np.zeros((3, 16, 16), np.float32), N=16, D=16)


# What the tool says:
#
#     warning[precision]: this product reads float32 as tf32, with 10 of its 23 fraction bits
#       --> examples/bugs/precision.py:19:9 in scores
#     19 |     s = tl.dot(q, tl.trans(k))
#        |         ^^^^^^^^^^^^^^^^^^^^^^ the default: nothing here asks for it
#        = program instance (0, 0, 0) of grid (3, 1, 1)
#        = `q`: element [0, 0] is 0.12573022, read as 0.12561035
#        = all 256 elements are rounded
#     note: launched here
#       --> examples/bugs/precision.py:29  scores[(3,)](q, q, lengths, np.zeros((3, 16, 16), np.float32), N=16, D=16)
#     help: tl.dot(q, tl.trans(k), input_precision="ieee")  # or "tf32x3", faster
#     note: a doubt, not a bug; `blockstep precision` measures what it costs
#     note: seen 3 times, in 3 program instances
#
#     warning[precision]: this store writes NaN to `out_ptr`
#       --> examples/bugs/precision.py:24:5 in scores
#     22 |     p = tl.exp(s - top[:, None])
#        |                ^^^^^^^^^^^^^^^^ the NaN was born here: -inf - -inf at element [0, 0]
#     24 |     tl.store(out_ptr + batch * N * N + rows[:, None] * N + rows[None, :], p)
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ all 256 elements are NaN
#        = program instance (2, 0, 0) of grid (3, 1, 1)
#        = infinities that cancel leave NaN
#        = `out_ptr` is float32[3, 16, 16]; out_ptr[2, 0, 0] and 255 more are NaN now
#     note: `out_ptr` was passed here
#       --> examples/bugs/precision.py:29  scores[(3,)](q, q, lengths, np.zeros((3, 16, 16), np.float32), N=16, D=16)
#     help: a row that is masked everywhere has the maximum -inf: subtract 0 there:  s - tl.where(top[:, None] == float("-inf"), 0.0, top[:, None])
#     2 warnings in 1 launch
