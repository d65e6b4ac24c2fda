"""Views of tensors: a storage offset, every second column, a transpose, an expanded row."""

import torch

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, sm, sn, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out_ptr + m * N + n, tl.load(x_ptr + m * sm + n * sn))


base = torch.arange(1024.0).reshape(32, 32)
for x in (base[3:19, 5:13], base[:16, ::4], base.t()[8:24, 8:16], base[2, :8].expand(16, 8)):
    out = torch.empty(16, 8)
    copy[(1,)](x, out, *x.stride(), M=16, N=8)
    assert torch.equal(out, x)
