"""Two program instances hand a value back and forth; each waits for the other, in turns."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def ping_pong(ball_ptr, ROUNDS: tl.constexpr):
    me = tl.program_id(0)
    for _ in range(ROUNDS):
        while tl.atomic_add(ball_ptr, 0) % 2 != me:
            pass
        tl.atomic_add(ball_ptr, 1)


ball = np.zeros(1, np.int32)
ping_pong[(2,)](ball, ROUNDS=5)
assert ball[0] == 10
